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

/** Field 22 in each profile, by what was read of the card. */
const entryModes = ({ name, version }: Profile) => {
  const longer = (mode: string) => (name === 'visa-public' ? `${mode}0` : mode)
  return version === '1993'
    ? {
        chip: '510101500140',
        contactless: '510101M00140',
        contactlessStripe: '510101A00140',
        swipe: '210101200140',
        fallback: '510101200140',
        typed: '010101600140',
      }
    : {
        chip: longer('051'),
        contactless: longer('071'),
        contactlessStripe: longer('911'),
        swipe: longer('901'),
        fallback: longer('801'),
        typed: longer('011'),
      }
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
    const { read, request } = send(profile, { 22: entryModes(profile).chip, 55: chipData })
    assert.equal(request.entryMode, 'chip')
    assert.equal(request.chip?.panSequenceNumber, undefined)
    const numbered = send(profile, { 23: '001', 55: chipData }).request.chip
    assert.equal(numbered?.panSequenceNumber, '01')
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

  test(`what was read of a card is known from field 22 of ${name}, at cash machines, too`, () => {
    const modes = entryModes(profile)
    const readAt = (mode: string, others: Record<string, string> = {}) => {
      const { cardRead, isFallback } = send(profile, { 22: mode, ...others }).request
      return [cardRead, isFallback]
    }
    const merchantType = profile.entryMode.atm.merchantField
    const places = [{}, { 3: '010000', [merchantType]: '6011' }]
    for (const [at, place] of places.entries()) {
      const withTrack = { ...place, 35: track }
      assert.deepEqual(readAt(modes.chip, place), ['chip', false])
      assert.deepEqual(readAt(modes.chip, withTrack), ['chip', false])
      assert.deepEqual(readAt(modes.contactless, withTrack), ['contactless', false])
      assert.deepEqual(readAt(modes.contactlessStripe, withTrack), ['contactless_stripe', false])
      assert.deepEqual(readAt(modes.swipe, withTrack), ['stripe', false])
      assert.deepEqual(readAt(modes.fallback, withTrack), ['stripe', true])
      assert.deepEqual(readAt(modes.fallback, place), ['stripe', true], 'also without a track')
      const atChipTerminal = chipTerminals[name]
      if (atChipTerminal) {
        assert.deepEqual(readAt(modes.swipe, { ...withTrack, ...atChipTerminal }), ['stripe', true])
      }
      const isAtm = at === 1
      assert.deepEqual(readAt(modes.typed, place), [isAtm ? 'chip' : 'none', false])
      assert.deepEqual(readAt(modes.typed, withTrack), ['stripe', false], 'a track was read')
      if (atChipTerminal) {
        const typed = readAt(modes.typed, { ...withTrack, ...atChipTerminal })
        assert.deepEqual(typed, ['stripe', true], 'and is a fallback there')
      }
    }
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
