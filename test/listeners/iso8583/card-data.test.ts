import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answerTo } from '../../../src/listeners/iso8583/answer.ts'
import { composeChipField } from '../../../src/listeners/iso8583/card-data.ts'
import { decode, encode } from '../../../src/listeners/iso8583/codec/message.ts'
import { parseRequest } from '../../../src/listeners/iso8583/network-messages.ts'
import { loadProfiles } from '../../../src/listeners/iso8583/profile.ts'
import type { Profile } from '../../../src/listeners/iso8583/profile-schema.ts'

const profiles = await loadProfiles(null)
const origin = { linkName: 'a', networkId: 'n', requestId: 'r' }
const chipData = '9F2608112233445566778882025C009F3602000A'
const answerData = '910A112233445566778830307216' + '9F180400000001860D84240000088877665544332211'
const track = '4000001234567899=30112011234512345678'

/** Field 22 in each profile: of a chip, a contactless stripe, a swipe, and a swipe for a chip. */
const entryModes = (profile: Profile) => {
  if (profile.version === '1993') {
    return { chip: '510101500140', swipe: '210101200140', fallback: '510101200140' }
  }
  const modes = { chip: '051', contactless: '911', swipe: '901', fallback: '801' }
  const longer = (mode: string) => (profile.name === 'visa-public' ? `${mode}0` : mode)
  return Object.fromEntries(Object.entries(modes).map(([name, mode]) => [name, longer(mode)]))
}

/** Where a terminal says that it can read chips, if not in field 22. */
const chipTerminals: Readonly<Record<string, Record<string, string>>> = {
  'visa-public': { 60: '050000000000' },
  'mastercard-public': { 61: '00000000003' },
}

function send(profile: Profile, fields: Readonly<Record<string, string>>) {
  const is1993 = profile.version === '1993'
  const message = {
    mti: is1993 ? '1100' : '0100',
    fields: {
      2: '4000001234567899',
      3: '000000',
      4: '000000001000',
      7: '1122170000',
      11: '000001',
      37: '000000000001',
      49: '978',
      ...fields,
    },
  }
  const read = decode(profile.layout, encode(profile.layout, message))
  const request = parseRequest(profile, origin, read)
  assert(request)
  return { read, request }
}

for (const [name, profile] of profiles) {
  test(`chip data arrive in field 55 of ${name}, and the answer to the chip returns in it`, () => {
    const { read, request } = send(profile, { 22: entryModes(profile).chip ?? '', 55: chipData })
    assert.equal(request.entryMode, 'chip')
    assert.equal(
      Buffer.from(request.chip?.data ?? [])
        .toString('hex')
        .toUpperCase(),
      chipData,
    )
    const field = composeChipField(profile, read, { chip: { data: answerData.toLowerCase() } })
    const answer = answerTo(profile, read, '88', field)
    assert.equal(answer.fields['55'], answerData)
    assert.deepEqual(decode(profile.layout, encode(profile.layout, answer)), answer)
    assert.equal(answerTo(profile, read, '00').fields['55'], undefined)
    assert.deepEqual(composeChipField(profile, read, {}), {})
  })

  test(`the same message of ${name} with other chip data is another request`, () => {
    const contentOf = (data: string) => send(profile, { 55: data }).request.content.reveal()
    assert.equal(contentOf(chipData), contentOf(chipData))
    assert.notEqual(contentOf(chipData), contentOf(chipData.replace('000A', '000B')))
  })

  test(`how a track was read is known from field 22 of ${name}`, () => {
    const modes = entryModes(profile)
    const stripeIn = (mode: string, others: Record<string, string> = {}) => {
      const { request } = send(profile, { 22: mode, 35: track, ...others })
      assert.equal(request.stripe?.track2.reveal().serviceCode, '201')
      const { isContactless, isFallback } = request.stripe
      return { isContactless, isFallback }
    }
    const usual = { isContactless: false, isFallback: false }
    assert.deepEqual(stripeIn(modes.chip ?? ''), usual)
    assert.deepEqual(stripeIn(modes.swipe ?? ''), usual)
    assert.deepEqual(stripeIn(modes.fallback ?? ''), { ...usual, isFallback: true })
    if (modes.contactless !== undefined) {
      assert.deepEqual(stripeIn(modes.contactless), { ...usual, isContactless: true })
    }
    const atChipTerminal = chipTerminals[name]
    if (!atChipTerminal) return
    assert.deepEqual(stripeIn(modes.swipe ?? '', atChipTerminal), { ...usual, isFallback: true })
  })
}

test('chip data in a dataset, as Visa has it, are answered in one', () => {
  const profile = profiles.get('visa-public')
  assert(profile)
  const length = (chipData.length / 2).toString(16).padStart(4, '0').toUpperCase()
  const { read, request } = send(profile, { 22: '0510', 55: `01${length}${chipData}` })
  assert.equal(
    Buffer.from(request.chip?.data ?? [])
      .toString('hex')
      .toUpperCase(),
    chipData,
  )
  const { 55: field } = composeChipField(profile, read, { chip: { data: answerData } })
  const answerLength = (answerData.length / 2).toString(16).padStart(4, '0').toUpperCase()
  assert.equal(field, `01${answerLength}${answerData}`)
})

test('a CAVV arrives in field 126 of visa-public, and a message without one has none', () => {
  const profile = profiles.get('visa-public')
  assert(profile)
  const cavv = '0700010972799396022310347279930000000000'
  const { request } = send(profile, { 126: `0080000000000000${cavv}` })
  assert.equal(request.cavv?.reveal()?.value, '972')
  assert.equal(
    send(profile, { 126: `0080000000000000${'A'.repeat(40)}` }).request.cavv?.reveal(),
    null,
  )
  assert.equal(send(profile, {}).request.cavv, undefined)
})
