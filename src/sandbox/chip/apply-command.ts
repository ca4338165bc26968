import type { StoredPin } from '../../hsm/contract/card.ts'
import type { VirtualChipState } from '../../storage/sandbox/virtual-chips.ts'

type Change = (
  chip: VirtualChipState,
  command: Uint8Array,
  newPin: StoredPin | null,
) => VirtualChipState | null

/** The data objects that the issuer can change in the chip: limits and offline funds. */
const changeableTags = '9F14 9F23 9F53 9F54 9F58 9F59 9F5C 9F72 9F77 9F78 9F79'.split(' ')

/** The commands that a chip executes, by their instruction byte (EMV Book 3, 6.5). */
const changes: Readonly<Record<string, Change>> = {
  // APPLICATION BLOCK
  '1E': (chip) => ({ ...chip, isApplicationBlocked: true }),
  // APPLICATION UNBLOCK
  '18': (chip) => ({ ...chip, isApplicationBlocked: false }),
  // CARD BLOCK
  '16': (chip) => ({ ...chip, isCardBlocked: true }),
  // PIN CHANGE/UNBLOCK, which restores the tries in either form.
  '24': (chip, _, newPin) => ({
    ...chip,
    ...newPin,
    remainingOfflineTries: chip.offlineTryLimit,
  }),
  // PUT DATA
  DA: (chip, command) => {
    const tag = toHex(command.subarray(2, 4))
    if (!changeableTags.includes(tag)) return null
    const value = toHex(command.subarray(5, -8))
    return { ...chip, dataObjects: { ...chip.dataObjects, [tag]: value } }
  },
}

const toHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex').toUpperCase()

/**
 * Executes a command whose MAC was verified.
 * @returns null if the chip has no such command or data object, or is blocked permanently.
 */
export function applyCommand(
  chip: VirtualChipState,
  command: Uint8Array,
  newPin: StoredPin | null,
): VirtualChipState | null {
  const change = changes[toHex(command.subarray(1, 2))]
  return chip.isCardBlocked || !change ? null : change(chip, command, newPin)
}
