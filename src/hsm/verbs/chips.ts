import { computeArpc1, computeArpc2, computeCryptogram } from '../../crypto/emv-cryptogram.ts'
import * as emvKeys from '../../crypto/emv-keys.ts'
import * as emvScripts from '../../crypto/emv-scripts.ts'
import { areEqualBytes } from '../../crypto/refusal.ts'
import type { KeyReference } from '../contract/card.ts'
import type { ChipCryptogram, ChipHsm, ChipReference, ScriptKeys } from '../contract/chip.ts'
import { type KeyRing, referencedKey } from '../keys/key-ring.ts'
import { openPan } from './card-numbers.ts'
import { openPin } from './pins.ts'

/** The names of the keys that chips' keys are derived from. */
type ChipKeyName = 'chip-ac' | 'chip-smc' | 'chip-smi'

/** PIN CHANGE/UNBLOCK with P2 02: the new PIN, without a proof of the current one. */
const pinChangeHeader = Buffer.from('84240002', 'hex')
const macLength = 8

/** Verifies and answers the cryptograms of chips, and makes the commands to them. */
export function chipVerbs(ring: KeyRing): ChipHsm {
  const deriveCardKey = async (
    { card, panSequenceNumber, profile }: ChipReference,
    name: ChipKeyName,
    reference: KeyReference,
  ): Promise<Buffer> => {
    const { key } = await referencedKey(ring, name, reference)
    const pan = await openPan(ring, card)
    return emvKeys.deriveCardKey(profile.cardKey, key, { pan: pan.reveal(), panSequenceNumber })
  }

  /** The key of secure messaging for one command. */
  const deriveMessagingKey = async (
    chip: ChipReference,
    name: ChipKeyName,
    reference: KeyReference,
    { arqc, atc }: ChipCryptogram,
  ): Promise<Buffer> =>
    using(await deriveCardKey(chip, name, reference), (cardKey) =>
      chip.profile.messaging === 'visa'
        ? emvKeys.deriveVisaMessagingKey(cardKey, atc)
        : emvKeys.deriveSessionKey(cardKey, arqc),
    )

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

/** The key of a cryptogram: that of the card itself where its profile has no session keys. */
function deriveCryptogramKey(
  { profile }: ChipReference,
  cardKey: Buffer,
  { atc, unpredictableNumber }: ChipCryptogram,
): Buffer {
  if (profile.sessionKey === 'none') return Buffer.from(cardKey)
  const diversifier =
    profile.sessionKey === 'common'
      ? emvKeys.diversifyByAtc(atc)
      : emvKeys.diversifyMChip(atc, unpredictableNumber)
  return emvKeys.deriveSessionKey(cardKey, diversifier)
}

/** Uses a secret once, and wipes it. */
function using<Result>(secret: Buffer, use: (secret: Buffer) => Result): Result {
  try {
    return use(secret)
  } finally {
    secret.fill(0)
  }
}
