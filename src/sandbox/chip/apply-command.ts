import type { StoredPin } from '../../hsm/contract/card.ts'
import type { VirtualChipState } from '../../storage/sandbox/virtual-chips.ts'

type Change = (
  chip: VirtualChipState,
  command: Uint8Array,
  newPin: StoredPin | null,
) => VirtualChipState

/** The commands that a chip executes, by their instruction byte (EMV Book 3, 6.5). */
const changes: Readonly<Record<number, Change>> = {
  // APPLICATION BLOCK
  30: (chip) => ({ ...chip, isApplicationBlocked: true }),
  // APPLICATION UNBLOCK
  24: (chip) => ({ ...chip, isApplicationBlocked: false }),
  // CARD BLOCK
  22: (chip) => ({ ...chip, isCardBlocked: true }),
  // PIN CHANGE/UNBLOCK, which restores the tries in either form.
  36: (chip, _, newPin) => ({
    ...chip,
    ...newPin,
    remainingOfflineTries: chip.offlineTryLimit,
  }),
  // PUT DATA
  218: (chip, command) => {
    const tag = Buffer.from(command.subarray(2, 4)).toString('hex').toUpperCase()
    const value = Buffer.from(command.subarray(5, -8)).toString('hex').toUpperCase()
    return { ...chip, dataObjects: { ...chip.dataObjects, [tag]: value } }
  },
}

/**
 * Carries out a command whose MAC was verified.
 * @returns null if the chip has no such command, or is blocked for ever.
 */
export function applyCommand(
  chip: VirtualChipState,
  command: Uint8Array,
  newPin: StoredPin | null,
): VirtualChipState | null {
  const change = changes[command[1] ?? 0]
  return chip.isCardBlocked || !change ? null : change(chip, command, newPin)
}
