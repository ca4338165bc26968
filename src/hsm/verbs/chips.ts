import { computeArpc1, computeArpc2, computeCryptogram } from '../../crypto/emv-cryptogram.ts'
import * as emvScripts from '../../crypto/emv-scripts.ts'
import { areEqualBytes } from '../../crypto/refusal.ts'
import { using } from '../../crypto/secrets.ts'
import type {
  ChipAnswer,
  ChipCryptogram,
  ChipHsm,
  ChipReference,
  ScriptKeys,
} from '../contract/chip.ts'
import type { KeyRing } from '../keys/key-ring.ts'
import { openPan } from './card-numbers.ts'
import { chipKeys, deriveCryptogramKey } from './chip-keys.ts'
import { openPin } from './pins.ts'

/** PIN CHANGE/UNBLOCK with P2 02: the new PIN, without a proof of the current one. */
const pinChangeHeader = Buffer.from('84240002', 'hex')

/** Verifies and answers the cryptograms of chips, and makes the commands to them. */
export function chipVerbs(ring: KeyRing): ChipHsm {
  const { deriveCardKey, deriveMessagingKey, usePinKeys } = chipKeys(ring)

  /** Completes a command: its length, its data and its MAC (EMV Book 2, 9.2). */
  async function sealCommand(
    chip: ChipReference,
    keys: ScriptKeys,
    cryptogram: ChipCryptogram,
    header: Uint8Array,
    data: Uint8Array,
  ): Promise<Buffer> {
    const begun = Buffer.concat([header, Buffer.of(data.length + emvScripts.scriptMacLength)])
    const message = Buffer.concat([begun, cryptogram.atc, cryptogram.arqc, data])
    const mac = using(
      await deriveMessagingKey(chip, 'chip-smi', keys.smi, cryptogram),
      (sessionKey) => emvScripts.computeScriptMac(sessionKey, message),
    )
    return Buffer.concat([begun, data, mac])
  }

  return {
    verifyCryptogram: async (chip, key, cryptogram, answer) =>
      using(await deriveCardKey(chip, 'chip-ac', key), (cardKey) =>
        using(deriveCryptogramKey(chip, cardKey, cryptogram), (sessionKey) => {
          const due = computeCryptogram(sessionKey, cryptogram.data, chip.profile.padding)
          if (!areEqualBytes(due, cryptogram.arqc)) return null
          return computeResponse(selectAnswerKey(chip, { cardKey, sessionKey }), cryptogram, answer)
        }),
      ),
    answerCryptogram: async (chip, key, cryptogram, answer) =>
      using(await deriveCardKey(chip, 'chip-ac', key), (cardKey) =>
        using(deriveCryptogramKey(chip, cardKey, cryptogram), (sessionKey) =>
          computeResponse(selectAnswerKey(chip, { cardKey, sessionKey }), cryptogram, answer),
        ),
      ),
    makeCommand: sealCommand,
    async makePinChange(chip, keys, cryptogram, newPin) {
      const { encipherment, pinForm } = chip.profile.messaging
      const pan = await openPan(ring, chip.card)
      const pin = await openPin(ring, pan, newPin.pinBlock, newPin.pinKey)
      const enciphered = await usePinKeys(chip, keys, cryptogram, ({ cardKey, sessionKey }) =>
        using(
          pinForm === 'visa'
            ? emvScripts.encodeVisaPinChange(cardKey, pin)
            : emvScripts.encodePinBlockFormat2(pin),
          (block) => emvScripts.encipherScriptData(sessionKey, block, encipherment),
        ),
      )
      return sealCommand(chip, keys, cryptogram, pinChangeHeader, enciphered)
    },
  }
}

/** The keys of one cryptogram. */
interface CryptogramKeys {
  readonly cardKey: Buffer
  readonly sessionKey: Buffer
}

const selectAnswerKey = (
  { profile }: ChipReference,
  { cardKey, sessionKey }: CryptogramKeys,
): Buffer => (profile.answer.key === 'card' ? cardKey : sessionKey)

/** Computes the response cryptogram by the method of the answer. */
const computeResponse = (key: Buffer, { arqc }: ChipCryptogram, answer: ChipAnswer): Buffer =>
  'responseCode' in answer
    ? computeArpc1(key, arqc, answer.responseCode)
    : computeArpc2(key, arqc, answer.cardStatusUpdate, answer.proprietaryData)
