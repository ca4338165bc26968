import { computeArpc1, computeArpc2, computeCryptogram } from '../../crypto/emv-cryptogram.ts'
import * as emvScripts from '../../crypto/emv-scripts.ts'
import { areEqualBytes } from '../../crypto/refusal.ts'
import type { ChipCryptogram, ChipHsm, ChipReference, ScriptKeys } from '../contract/chip.ts'
import type { KeyRing } from '../keys/key-ring.ts'
import { openPan } from './card-numbers.ts'
import { chipKeys, deriveCryptogramKey, using } from './chip-keys.ts'
import { openPin } from './pins.ts'

/** PIN CHANGE/UNBLOCK with P2 02: the new PIN, without a proof of the current one. */
const pinChangeHeader = Buffer.from('84240002', 'hex')
const macLength = 8

/** Verifies and answers the cryptograms of chips, and makes the commands to them. */
export function chipVerbs(ring: KeyRing): ChipHsm {
  const { deriveCardKey, deriveMessagingKey } = chipKeys(ring)

  /** Completes a command: its length, its data and its MAC (EMV Book 2, 9.2). */
  async function sealCommand(
    chip: ChipReference,
    keys: ScriptKeys,
    cryptogram: ChipCryptogram,
    header: Uint8Array,
    data: Uint8Array,
  ): Promise<Buffer> {
    const begun = Buffer.concat([header, Buffer.of(data.length + macLength)])
    const message = Buffer.concat([begun, cryptogram.atc, cryptogram.arqc, data])
    const mac = using(
      await deriveMessagingKey(chip, 'chip-smi', keys.smi, cryptogram),
      (sessionKey) => emvScripts.computeScriptMac(sessionKey, message, macLength),
    )
    return Buffer.concat([begun, data, mac])
  }

  return {
    async verifyCryptogram(chip, key, cryptogram) {
      const cardKey = await deriveCardKey(chip, 'chip-ac', key)
      const due = using(deriveCryptogramKey(chip, cardKey, cryptogram), (sessionKey) =>
        computeCryptogram(sessionKey, cryptogram.data, chip.profile.padding),
      )
      cardKey.fill(0)
      return areEqualBytes(due, cryptogram.arqc)
    },
    async answerCryptogram(chip, key, cryptogram, answer) {
      const cardKey = await deriveCardKey(chip, 'chip-ac', key)
      const isOfCard = chip.profile.answer.key === 'card'
      const answerKey = isOfCard ? cardKey : deriveCryptogramKey(chip, cardKey, cryptogram)
      const arpc = using(answerKey, (used) =>
        'responseCode' in answer
          ? computeArpc1(used, cryptogram.arqc, answer.responseCode)
          : computeArpc2(used, cryptogram.arqc, answer.cardStatusUpdate, answer.proprietaryData),
      )
      cardKey.fill(0)
      return arpc
    },
    makeCommand: sealCommand,
    async makePinChange(chip, keys, cryptogram, newPin) {
      if (newPin.pinBlock === null) throw new Error('A PVV does not reveal its PIN.')
      const { messaging } = chip.profile
      const pan = await openPan(ring, chip.card)
      const pin = await openPin(ring, pan, newPin.pinBlock, newPin.pinKey)
      const block =
        messaging === 'visa'
          ? using(await deriveCardKey(chip, 'chip-ac', keys.ac), (cardKey) =>
              emvScripts.encodeVisaPinChange(cardKey, pin, null),
            )
          : emvScripts.encodePinBlockFormat2(pin)
      const sessionKey = await deriveMessagingKey(chip, 'chip-smc', keys.smc, cryptogram)
      const enciphered = using(sessionKey, (used) =>
        using(block, (clear) =>
          emvScripts.encipherScriptData(used, clear, messaging === 'visa' ? 'visa' : 'mastercard'),
        ),
      )
      return sealCommand(chip, keys, cryptogram, pinChangeHeader, enciphered)
    },
  }
}
