import { computeCryptogram } from '../../crypto/emv-cryptogram.ts'
import * as emvScripts from '../../crypto/emv-scripts.ts'
import { areEqualBytes, orNull } from '../../crypto/refusal.ts'
import { using } from '../../crypto/secrets.ts'
import type { SealedPin } from '../contract/card.ts'
import type { ChipCryptogram, ChipReference, ScriptKeys, VirtualChipHsm } from '../contract/chip.ts'
import type { KeyRing } from '../keys/key-ring.ts'
import { openPan } from './card-numbers.ts'
import { chipKeys, deriveCryptogramKey } from './chip-keys.ts'
import { encipherStoredPin } from './pins.ts'

/** CLA, INS, P1, P2 and the length of what follows. */
const headLength = 5
const macLength = emvScripts.scriptMacLength

/** Does what a chip does: makes cryptograms, and opens commands. */
export function virtualChipVerbs(ring: KeyRing): VirtualChipHsm {
  const { deriveCardKey, deriveMessagingKey, usePinKeys } = chipKeys(ring)

  async function openPinChange(
    chip: ChipReference,
    keys: ScriptKeys,
    cryptogram: ChipCryptogram,
    enciphered: Uint8Array,
  ): Promise<SealedPin | null> {
    const { encipherment, pinForm } = chip.profile.messaging
    const pin = await usePinKeys(chip, keys, cryptogram, ({ cardKey, sessionKey }) =>
      orNull(() =>
        using(emvScripts.decipherScriptData(sessionKey, enciphered, encipherment), (block) =>
          pinForm === 'visa'
            ? emvScripts.decodeVisaPinChange(cardKey, block)
            : emvScripts.decodePinBlockFormat2(block),
        ),
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
        (sessionKey) => emvScripts.computeScriptMac(sessionKey, message),
      )
      if (!areEqualBytes(due, command.subarray(-macLength))) return null
      // PIN CHANGE/UNBLOCK without data unblocks the PIN that the chip has.
      if (head[1] !== 0x24 || data.length === 0) return { newPin: null }
      const newPin = await openPinChange(chip, keys, cryptogram, data)
      return newPin === null ? null : { newPin }
    },
  }
}
