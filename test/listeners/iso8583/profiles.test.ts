import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { StartRefusal } from '../../../src/domain/problem.ts'
import { answerTo, composeResults } from '../../../src/listeners/iso8583/answer.ts'
import { decode, encode } from '../../../src/listeners/iso8583/codec/message.ts'
import { parseRequest } from '../../../src/listeners/iso8583/network-messages.ts'
import { loadProfiles } from '../../../src/listeners/iso8583/profile.ts'
import { outcomes } from '../../../src/listeners/iso8583/profile-schema.ts'

const folderOf = async (...profiles: readonly unknown[]): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'profiles-'))
  for (const [at, profile] of profiles.entries()) {
    const text = typeof profile === 'string' ? profile : JSON.stringify(profile)
    await writeFile(join(folder, `${at}.json`), text)
  }
  return folder
}

const profiles = await loadProfiles(null)
const origin = { linkName: 'a', networkId: 'n', requestId: 'r' }

test('five profiles and the sandbox’s come with the program, and two say that nobody certified them', () => {
  const names = [
    'ascii-1987',
    'ascii-1993',
    'binary-1987',
    'mastercard-public',
    'sandbox',
    'visa-public',
  ]
  assert.deepEqual([...profiles.keys()].sort(), names)
  const uncertified = [...profiles.values()].filter(({ certified }) => certified === false)
  assert.deepEqual(uncertified.map(({ name }) => name).sort(), ['mastercard-public', 'visa-public'])
  for (const { description } of uncertified) assert.match(description, /Not certified/)
})

test('those of the program are all that is asked of an operator’s', async () => {
  const own = new URL('../../../src/listeners/iso8583/profiles/', import.meta.url)
  const texts = await Promise.all(
    (await readdir(own)).map(async (name) =>
      JSON.parse(await readFile(new URL(name, own), 'utf8')),
    ),
  )
  const copies = texts.map((profile) => ({ ...profile, name: `${profile.name}-copy` }))
  const loaded = await loadProfiles(await folderOf(...copies))
  for (const [name, profile] of profiles) {
    assert.deepEqual(loaded.get(`${name}-copy`), { ...profile, name: `${name}-copy` })
  }
})

const purchase = {
  2: '4000001234567899',
  3: '000000',
  4: '000000001000',
  7: '1122170000',
  11: '000001',
  14: '3011',
  32: '123456',
  37: '000000000001',
  41: 'TERM0001',
  42: 'MERCHANT0000001',
  49: '978',
  52: '1122334455667788',
}

/** Where each profile has a CVV2 of 123, and what is not one. */
const cvv2s: Readonly<Record<string, readonly [Record<string, string>, Record<string, string>]>> = {
  'ascii-1987': [{ 48: '9203123' }, { 48: '8701M' }],
  'binary-1987': [{ 48: '9203123' }, {}],
  'ascii-1993': [{ 48: '9203123' }, {}],
  sandbox: [{ 48: '9203123' }, { 48: '9203   ' }],
  'visa-public': [{ 126: '0040000000000000F1F040F1F2F3' }, { 126: '0040000000000000F0F040F1F2F3' }],
  'mastercard-public': [{ 48: 'T9203123' }, { 48: 'T' }],
}

/** Field 22 of a chip, where it is not three digits. */
const entryModes: Readonly<Record<string, string>> = { 'visa-public': '0510' }

for (const [name, profile] of profiles) {
  test(`messages of ${name} are written, read, understood and answered`, () => {
    const is1993 = profile.version === '1993'
    const version = is1993
      ? { 12: '261122170000', 22: '510101500140', 26: '5411', 53: '2001010100000000' }
      : { 22: entryModes[name] ?? '051', 18: '5411', 53: '2001010100000000' }
    const [withCvv2, without] = cvv2s[name] ?? [{}, {}]
    const mti = is1993 ? '1100' : '0100'
    for (const [cvv2, isThere] of [
      [withCvv2, true],
      [without, false],
    ] as const) {
      const message = { mti, fields: { ...purchase, ...version, ...cvv2 } }
      const read = decode(profile.layout, encode(profile.layout, message))
      assert.deepEqual(read, message)
      const question = parseRequest(profile, origin, read)
      assert(question)
      assert.equal(question.pan?.reveal(), purchase[2])
      assert.equal(question.expiryDate, '2030-11')
      assert.equal(question.entryMode, 'chip')
      assert.equal(question.cvv2?.reveal(), isThere ? '123' : undefined)
      assert.equal(question.pinBlock?.data, purchase[52])
      assert.equal(question.pinBlock?.format, 'ISO_FORMAT_0')
      for (const outcome of outcomes) {
        const answer = answerTo(profile, read, outcome)
        assert.equal(answer.mti, is1993 ? '1110' : '0110')
        // What nobody must see again does not go back.
        for (const secret of ['14', '35', '48', '52', '126']) assert(!(secret in answer.fields))
        assert.deepEqual(decode(profile.layout, encode(profile.layout, answer)), answer)
      }
    }
  })
}

/** Where each profile shows that a CVV2 matched. */
const shownMatches: Readonly<Record<string, Record<string, string>>> = {
  'ascii-1987': { 48: '8701M' },
  'binary-1987': { 48: '8701M' },
  'ascii-1993': { 48: '8701M' },
  sandbox: { 48: '8701M' },
  'visa-public': { 44: '          M' },
  'mastercard-public': { 48: 'T8701M' },
}

for (const [name, profile] of profiles) {
  test(`what a CVV2 came to is shown where ${name} has a place for it`, () => {
    const outcomeOf = (result: 'match' | 'mismatch' | 'blocked' | 'unresolved') => {
      const cvv = { result, remainingTries: 1 }
      const shown = composeResults(profile, {
        approved: false,
        responseCode: '00',
        reference: 'R',
        cvv,
      })
      const message = { mti: profile.version === '1993' ? '1110' : '0110', fields: shown }
      assert.deepEqual(decode(profile.layout, encode(profile.layout, message)), message)
      return shown
    }
    const match = shownMatches[name]
    const asN = (shown: object) => JSON.parse(JSON.stringify(shown).replace('M"', 'N"'))
    assert.deepEqual(outcomeOf('match'), match)
    assert.deepEqual(outcomeOf('mismatch'), asN(match ?? {}))
    assert.deepEqual(outcomeOf('blocked'), asN(match ?? {}))
    assert.deepEqual(outcomeOf('unresolved'), {})
  })
}

test('what is said to be a CVV2 and is none is no question', () => {
  const asked = (name: string, fields: Record<string, string>) => {
    const profile = profiles.get(name)
    assert(profile)
    return parseRequest(profile, origin, { mti: '0100', fields: { ...purchase, ...fields } })
  }
  assert.equal(asked('ascii-1987', { 48: '9203ABC' }), null)
  assert.equal(asked('ascii-1987', { 48: '920212' }), null)
  // Present by its indicator, and blank.
  assert.equal(asked('visa-public', { 126: '0040000000000000F1F040404040' }), null)
  assert(asked('visa-public', { 126: '0040000000000000F2F040404040' }))
})

test('a field of no characters says nothing', () => {
  const asked = (name: string, fields: Record<string, string>) => {
    const profile = profiles.get(name)
    assert(profile)
    return parseRequest(profile, origin, { mti: '0100', fields: { ...purchase, ...fields } })
  }
  const swiped = asked('ascii-1987', { 2: '', 35: '4000001234567899=30112011234' })
  assert.equal(swiped?.pan?.reveal(), '4000001234567899')
  // The zone key and the format of a message that says neither.
  const block = asked('ascii-1993', {})?.pinBlock
  assert.deepEqual(asked('ascii-1993', { 53: '' })?.pinBlock, block)
  assert.equal(
    asked('ascii-1987', { 35: '' })?.content.reveal(),
    asked('ascii-1987', {})?.content.reveal(),
  )
  assert.equal(asked('mastercard-public', { 48: '' })?.cvv2, undefined)
})

test('an ATM is known by its merchant type and processing code, a card that is not there by its condition', () => {
  const profile = profiles.get('ascii-1987')
  assert(profile)
  const modeOf = (fields: Record<string, string>) =>
    parseRequest(profile, origin, { mti: '0100', fields: { ...purchase, ...fields } })?.entryMode
  assert.equal(modeOf({ 3: '010000', 18: '6011', 22: '051' }), 'atm')
  assert.equal(modeOf({ 3: '000000', 18: '6011', 22: '051' }), 'chip')
  assert.equal(modeOf({ 22: '071' }), 'contactless')
  assert.equal(modeOf({ 22: '901' }), 'magstripe')
  assert.equal(modeOf({ 22: '012', 25: '59' }), 'ecommerce')
  assert.equal(modeOf({ 22: '012' }), 'moto')
})

test('everything that is wrong with profiles is said at once, and nothing starts', async () => {
  const tvl = { kind: 'tvl', tagLength: 2, lengthDigits: 2 }
  const packed = { encoding: 'bcd' }
  const cvv2 = { part: '92', at: 0, length: 3 }
  const subfield = { fields: { 10: { type: 'ans', encoding: 'bcd', length: 6 } } }
  const folder = await folderOf(
    'no JSON',
    { name: 'sandbox' },
    { name: 'lost', extends: 'nowhere' },
    { name: 'self', extends: 'self' },
    { name: 'unknown', extends: 'ascii-1987', colour: 'red' },
    { name: 'without-39', extends: 'ascii-1987', layout: { fields: { 39: null } } },
    { name: 'tells-pins', extends: 'ascii-1987', echoed: ['2', '52'] },
    { name: 'wrong-codes', extends: 'ascii-1987', responses: { 55: '117' } },
    { name: 'wrong-parts', extends: 'ascii-1987', layout: { fields: { 48: { parts: tvl } } } },
    { name: 'packed-text', extends: 'binary-1987', layout: { fields: { 41: packed } } },
    { name: 'no-keys', extends: 'ascii-1987', echoed: ['7', '11', '32', '37', '41'] },
    { name: 'no-part', extends: 'ascii-1987', cvv2: { ...cvv2, field: '47' } },
    { name: 'no-mode', extends: 'ascii-1987', entryMode: { otherwise: 'by hand' } },
    { name: 'sub', extends: 'visa-public', layout: { fields: { 126: { parts: subfield } } } },
  )
  await assert.rejects(loadProfiles(folder), (error) => {
    assert(error instanceof StartRefusal)
    const found = [
      /0\.json must be a JSON object/,
      /another profile has the name sandbox/,
      /nowhere/,
      /self extends self/,
      /unknown/,
      /without-39: field 39/,
      /tells-pins: field 52/,
      /wrong-codes: 117/,
      /wrong-parts\/layout\/fields\/48/,
      /packed-text: field 41 packs/,
      /no-keys: field 42 distinguishes transactions/,
      /no-part: field 47 has no parts/,
      /no-mode\/entryMode\/otherwise/,
      /sub: field 126\.10 packs/,
    ]
    for (const each of found) assert.match(error.message, each)
    return true
  })
  await assert.rejects(loadProfiles(join(folder, 'none')), /cannot be read/)
})
