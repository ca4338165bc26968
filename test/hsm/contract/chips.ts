import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import {
  computeArpc1,
  computeArpc2,
  computeCryptogram,
} from '../../../src/crypto/emv-cryptogram.ts'
import * as emvKeys from '../../../src/crypto/emv-keys.ts'
import {
  computeScriptMac,
  decipherScriptData,
  decodePinBlockFormat2,
  decodeVisaPinChange,
} from '../../../src/crypto/emv-scripts.ts'
import { encipherTdesEcb } from '../../../src/crypto/tdes.ts'
import { type ChipProfile, chipProfiles } from '../../../src/domain/chip-profile.ts'
import { Pan } from '../../../src/domain/pan.ts'
import { Pin } from '../../../src/domain/pin.ts'
import type { ChipCryptogram, ChipReference } from '../../../src/hsm/contract/chip.ts'
import { UnknownKey } from '../../../src/hsm/contract/stored-keys.ts'
import { cardOf, drawTdesKey, openWith, rules, type Subject } from '../implementation.ts'

const pan = '4000001234567899'
const panSequenceNumber = '01'
const keyNames = ['chip-ac', 'chip-smc', 'chip-smi'] as const
const references = { ac: 'chip-ac/1', smc: 'chip-smc/1', smi: 'chip-smi/1' }

/** A chip whose keys the test knows, on the HSM and in the test's own hands. */
async function openChip(subject: Subject, profile: ChipProfile) {
  const panKey = randomBytes(32)
  const known = Object.fromEntries(keyNames.map((name) => [name, drawTdesKey()]))
  const hsm = await openWith(subject(), { pan: panKey, ...known })
  const chip: ChipReference = { card: cardOf(panKey, new Pan(pan)), panSequenceNumber, profile }
  const cardKey = (name: (typeof keyNames)[number]): Promise<Buffer> =>
    emvKeys.deriveCardKey(
      profile.cardKey,
      { encipher: async (blocks) => encipherTdesEcb(known[name] ?? Buffer.alloc(0), blocks) },
      { pan, panSequenceNumber },
    )
  return { hsm, chip, cardKey }
}

/** What the chip itself would send. */
async function makeCryptogram(
  profile: ChipProfile,
  cardKey: Buffer,
): Promise<ChipCryptogram & { readonly sessionKey: Buffer }> {
  const [data, atc, unpredictableNumber] = [randomBytes(40), randomBytes(2), randomBytes(4)]
  const sessionKeys = {
    none: () => cardKey,
    common: () => emvKeys.deriveSessionKey(cardKey, emvKeys.diversifyByAtc(atc)),
    mChip: () =>
      emvKeys.deriveSessionKey(cardKey, emvKeys.diversifyMChip(atc, unpredictableNumber)),
  }
  const sessionKey = sessionKeys[profile.sessionKey]()
  const arqc = computeCryptogram(sessionKey, data, profile.padding)
  return { data, atc, unpredictableNumber, arqc, sessionKey }
}

const messagingKey = (profile: ChipProfile, cardKey: Buffer, { arqc, atc }: ChipCryptogram) =>
  profile.messaging.sessionKey === 'visa'
    ? emvKeys.deriveVisaMessagingKey(cardKey, atc)
    : emvKeys.deriveSessionKey(cardKey, arqc)

export function chipGuarantees(subject: Subject): void {
  for (const [name, profile] of Object.entries(chipProfiles)) {
    test(`the cryptogram of a ${name} chip passes, and with one bit changed it does not`, async () => {
      const { cardKey, chip, hsm } = await openChip(subject, profile)
      const made = await makeCryptogram(profile, await cardKey('chip-ac'))
      const answer = { responseCode: Buffer.from('00') }
      assert.ok(await hsm.verifyCryptogram(chip, references.ac, made, answer))
      for (const member of ['data', 'arqc'] as const) {
        const changed = Buffer.from(made[member])
        changed[3] = (changed[3] ?? 0) ^ 1
        const other = { ...made, [member]: changed }
        const found = await hsm.verifyCryptogram(chip, references.ac, other, answer)
        assert.equal(found, null, member)
      }
      const otherChip = { ...chip, panSequenceNumber: '02' }
      assert.equal(await hsm.verifyCryptogram(otherChip, references.ac, made, answer), null)
    })

    test(`a ${name} chip accepts the answer`, async () => {
      const { cardKey, chip, hsm } = await openChip(subject, profile)
      const key = await cardKey('chip-ac')
      const made = await makeCryptogram(profile, key)
      const answerKey = profile.answer.key === 'card' ? key : made.sessionKey
      const responseCode = Buffer.from('00')
      const cardStatusUpdate = randomBytes(4)
      const proprietaryData = randomBytes(5)
      const [answer, expected] =
        profile.answer.method === 1
          ? ([{ responseCode }, computeArpc1(answerKey, made.arqc, responseCode)] as const)
          : ([
              { cardStatusUpdate, proprietaryData },
              computeArpc2(answerKey, made.arqc, cardStatusUpdate, proprietaryData),
            ] as const)
      const arpc = await hsm.answerCryptogram(chip, references.ac, made, answer)
      assert.deepEqual(Buffer.from(arpc), expected)
      const verified = await hsm.verifyCryptogram(chip, references.ac, made, answer)
      assert.deepEqual(Buffer.from(verified ?? []), expected)
    })

    test(`a ${name} chip accepts a command, and finds the new PIN in one`, async () => {
      const { cardKey, chip, hsm } = await openChip(subject, profile)
      const acKey = await cardKey('chip-ac')
      const made = await makeCryptogram(profile, acKey)
      const smi = messagingKey(profile, await cardKey('chip-smi'), made)
      const blocked = await hsm.makeCommand(
        chip,
        references,
        made,
        Buffer.from('841E0000', 'hex'),
        Buffer.alloc(0),
      )
      assertCommand(Buffer.from(blocked), smi, made)

      const { pin } = await hsm.importPin(chip.card, rules(), new Pin('4927'))
      assert.ok(pin && pin.pinBlock !== null)
      const change = Buffer.from(await hsm.makePinChange(chip, references, made, pin))
      assertCommand(change, smi, made)
      const smc = messagingKey(profile, await cardKey('chip-smc'), made)
      assert.equal(readPin(profile, smc, acKey, change.subarray(5, -8)), '4927')
    })
  }

  for (const [name, profile] of Object.entries(chipProfiles)) {
    test(`a virtual ${name} chip makes what a chip makes`, async () => {
      const { cardKey, chip, hsm } = await openChip(subject, profile)
      const made = await makeCryptogram(profile, await cardKey('chip-ac'))
      const arqc = await hsm.generateCryptogram(chip, references.ac, made)
      assert.deepEqual(Buffer.from(arqc), made.arqc)
    })

    test(`a virtual ${name} chip takes commands to it, and no others`, async () => {
      const { cardKey, chip, hsm } = await openChip(subject, profile)
      const made = await makeCryptogram(profile, await cardKey('chip-ac'))
      const open = (command: Uint8Array, cryptogram: ChipCryptogram = made) =>
        hsm.openCommand(chip, references, cryptogram, command)
      const header = Buffer.from('841E0000', 'hex')
      const blocks = await hsm.makeCommand(chip, references, made, header, Buffer.alloc(0))
      const { pin } = await hsm.importPin(chip.card, rules(), new Pin('492713'))
      assert.ok(pin && pin.pinBlock !== null)
      const change = await hsm.makePinChange(chip, references, made, pin)
      assert.deepEqual(await open(blocks), { newPin: null })
      const newPin = (await open(change))?.newPin
      assert.ok(newPin)
      assert.equal((await hsm.revealPin(chip.card, newPin)).reveal(), '492713')
      for (const command of [blocks, change]) {
        for (let at = 0; at < command.length; at += 1) {
          const changed = Buffer.from(command)
          changed[at] = (changed[at] ?? 0) ^ 1
          assert.equal(await open(changed), null, `byte ${at}`)
        }
        assert.equal(await open(command.subarray(0, -1)), null)
        const otherAtc = { ...made, atc: randomBytes(2), arqc: randomBytes(8) }
        assert.equal(await open(command, otherAtc), null)
      }
      const junk = await hsm.makeCommand(
        chip,
        references,
        made,
        Buffer.from('84240002', 'hex'),
        randomBytes(16),
      )
      assert.equal(await open(junk), null)
    })
  }

  test('a version that a message names, and that does not exist, lets no keys be read again', async () => {
    const { cardKey, chip, hsm } = await openChip(subject, chipProfiles.cpa)
    const made = await makeCryptogram(chipProfiles.cpa, await cardKey('chip-ac'))
    const { list } = hsm.keyStore
    let reads = 0
    hsm.keyStore.list = () => {
      reads += 1
      return list()
    }
    const answer = { cardStatusUpdate: Buffer.alloc(4), proprietaryData: Buffer.alloc(0) }
    for (const version of [2, 77, 255]) {
      const unknown = hsm.verifyCryptogram(chip, `chip-ac/${version}`, made, answer)
      await assert.rejects(unknown, UnknownKey)
    }
    assert.equal(reads, 0)
  })

  test('the key of another use makes no cryptogram', async () => {
    const profile = chipProfiles['visa-cvn18']
    const { cardKey, chip, hsm } = await openChip(subject, profile)
    const made = await makeCryptogram(profile, await cardKey('chip-smi'))
    const answer = { responseCode: Buffer.from('00') }
    await assert.rejects(hsm.verifyCryptogram(chip, references.smi, made, answer))
  })
}

/** The length of a command is that of its data and MAC, and the MAC is the chip's. */
function assertCommand(command: Buffer, smi: Buffer, { arqc, atc }: ChipCryptogram): void {
  assert.equal(command[4], command.length - 5)
  const header = command.subarray(0, 5)
  const message = Buffer.concat([header, atc, arqc, command.subarray(5, -8)])
  assert.deepEqual(command.subarray(-8), computeScriptMac(smi, message))
}

function readPin(profile: ChipProfile, smc: Buffer, acKey: Buffer, data: Buffer): string {
  const { encipherment, pinForm } = profile.messaging
  const block = decipherScriptData(smc, data, encipherment)
  return pinForm === 'visa' ? decodeVisaPinChange(acKey, block) : decodePinBlockFormat2(block)
}
