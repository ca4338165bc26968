import { computeCryptogram } from '../../crypto/emv-cryptogram.ts'
import * as emvScripts from '../../crypto/emv-scripts.ts'
import { areEqualBytes, CryptoRefusal } from '../../crypto/refusal.ts'
import type { StoredPin } from '../contract/card.ts'
import type { ChipCryptogram, ChipReference, ScriptKeys, VirtualChipHsm } from '../contract/chip.ts'
import type { KeyRing } from '../keys/key-ring.ts'
import { openPan } from './card-numbers.ts'
import { chipKeys, deriveCryptogramKey, using } from './chip-keys.ts'
import { encipherStoredPin } from './pins.ts'

/** CLA, INS, P1, P2 and the length of what follows. */
const headLength = 5
const macLength = 8

/** Does what a chip does: makes cryptograms, and opens commands. */
export function virtualChipVerbs(ring: KeyRing): VirtualChipHsm {
  const { deriveCardKey, deriveMessagingKey } = chipKeys(ring)

  async function openPinChange(
    chip: ChipReference,
    keys: ScriptKeys,
    cryptogram: ChipCryptogram,
    enciphered: Uint8Array,
  ): Promise<StoredPin | null> {
    const isVisa = chip.profile.messaging === 'visa'
    const cardKey = await deriveCardKey(chip, 'chip-ac', keys.ac)
    const sessionKey = await deriveMessagingKey(chip, 'chip-smc', keys.smc, cryptogram)
    const pin = using(cardKey, () =>
      using(sessionKey, () =>
        orNull(() => {
          const encipherment = isVisa ? 'visa' : 'mastercard'
          const clear = emvScripts.decipherScriptData(sessionKey, enciphered, encipherment)
          return using(clear, (block) =>
            isVisa
              ? emvScripts.decodeVisaPinChange(cardKey, block)
              : emvScripts.decodePinBlockFormat2(block),
          )
        }),
      ),
    )
    return pin === null ? null : encipherStoredPin(ring, await openPan(ring, chip.card), pin)
  }

  return {
    async generateCryptogram(chip, key, made) {
      return using(await deriveCardKey(chip, 'chip-ac', key), (cardKey) =>
        using(deriveCryptogramKey(chip, cardKey, made), (sessionKey) =>
          computeCryptogram(sessionKey, made.data, chip.profile.padding),
        ),
      )
    },
    async openCommand(chip, keys, cryptogram, command) {
      const head = command.subarray(0, headLength)
      if (command.length < headLength + macLength || head[4] !== command.length - headLength) {
        return null
      }
      const data = command.subarray(headLength, -macLength)
      const message = Buffer.concat([head, cryptogram.atc, cryptogram.arqc, data])
      const due = using(
        await deriveMessagingKey(chip, 'chip-smi', keys.smi, cryptogram),
        (sessionKey) => emvScripts.computeScriptMac(sessionKey, message, macLength),
      )
      if (!areEqualBytes(due, command.subarray(-macLength))) return null
      // PIN CHANGE/UNBLOCK without data unblocks the PIN that the chip has.
      if (head[1] !== 0x24 || data.length === 0) return { newPin: null }
      const newPin = await openPinChange(chip, keys, cryptogram, data)
      return newPin === null ? null : { newPin }
    },
  }
}

/** Returns null for a refusal of the cryptography. Other faults are thrown. */
function orNull<Result>(work: () => Result): Result | null {
  try {
    return work()
  } catch (error) {
    if (error instanceof CryptoRefusal) return null
    throw error
  }
}
