import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { parseChipData } from '../../../src/domain/chip-data.ts'
import type { IsoMessage } from '../../../src/listeners/iso8583/codec/layout.ts'
import { issueChipCard, type PlayedChip, playChip } from '../../support/chip.ts'
import type { IssuedCard } from '../../support/network.ts'
import { openTestService, sql, type TestService } from '../../support/service.ts'
import { connectSwitch, nextTrace, openLink, purchase, type Switch } from '../../support/switch.ts'

let service: TestService
before(async () => {
  service = await openTestService({ env: { RATE_LIMIT: 'off' } })
})

const profileNames = [
  'ascii-1987',
  'binary-1987',
  'ascii-1993',
  'visa-public',
  'mastercard-public',
  'sandbox',
]

/** Field 39 of a wrong chip, as the documents of each profile have it. */
const wrongChip: Readonly<Record<string, string>> = { 'ascii-1993': '122', 'visa-public': '82' }
const approved = (profile: string): string => (profile === 'ascii-1993' ? '000' : '00')

async function openChip(profile: string) {
  const wire = await connectSwitch(await openLink(service, { profile }))
  await wire.signOn()
  const card = await issueChipCard(service)
  const chip = await playChip(service, card)
  return { wire, card, chip }
}

/** Sends a message with the chip, without a PIN. */
const send = async (
  { ask, profile }: Switch,
  card: IssuedCard,
  type: '100' | '120',
  data: string,
  others: Record<string, string> = {},
): Promise<IsoMessage> => {
  const {
    18: merchantType = '',
    25: condition = '',
    52: _,
    53: __,
    ...fields
  } = purchase(service, card)
  const is1993 = profile.version === '1993'
  const trace = nextTrace()
  return ask(is1993 ? `1${type}` : `0${type}`, {
    ...fields,
    ...(is1993
      ? { 12: `261128${trace}`, 22: '510101500140', 26: merchantType }
      : { 18: merchantType, 22: profile.name === 'visa-public' ? '0510' : '051', 25: condition }),
    11: trace,
    37: trace.padStart(12, '0'),
    55: data.toUpperCase(),
    ...others,
  })
}

const pay = async (wire: Switch, card: IssuedCard, chip: PlayedChip, atc: number) =>
  send(wire, card, '100', (await chip.present({ atc })).data)

for (const name of profileNames) {
  test(`a track over ${name} that cannot be read is a format error, and none is a missing value`, async () => {
    const { card, wire } = await openChip(name)
    const yymm = card.expiry.slice(2, 4) + card.expiry.slice(5)
    const is1993 = wire.profile.version === '1993'
    const modes: Readonly<Record<string, string>> = {
      'ascii-1993': '210201200140',
      'visa-public': '0200',
    }
    const swipe = async (track: Record<string, string>) => {
      const {
        18: merchantType = '',
        25: condition = '',
        52: _,
        53: __,
        ...fields
      } = purchase(service, card)
      const trace = nextTrace()
      const answer = await wire.ask(is1993 ? '1100' : '0100', {
        ...fields,
        ...(is1993
          ? { 12: `261128${trace}`, 26: merchantType }
          : { 18: merchantType, 25: condition }),
        11: trace,
        22: modes[name] ?? '021',
        37: trace.padStart(12, '0'),
        ...track,
      })
      return answer.fields['39']
    }
    const formatError = wire.profile.version === '1993' ? '904' : '30'
    assert.equal(await swipe({}), wrongChip[name] ?? '88')
    for (const track of [`${card.pan}=${yymm}20`, `${card.pan}${yymm}2010000000000`]) {
      assert.equal(await swipe({ 35: track }), formatError, 'no service code, no separator')
    }
    wire.close()
  })
}

const readTags = ({ fields }: IsoMessage): ReadonlyMap<string, Uint8Array> => {
  const parsed = parseChipData(Buffer.from(fields['55'] ?? '', 'hex'))
  assert('tags' in parsed, JSON.stringify(parsed))
  return parsed.tags
}

for (const name of profileNames) {
  test(`a chip pays over ${name}, and its cryptogram is accepted once`, async () => {
    const { card, chip, wire } = await openChip(name)
    const { data } = await chip.present({ atc: 1 })
    const first = await send(wire, card, '100', data)
    assert.equal(first.fields['39'], approved(name))
    assert.equal(readTags(first).get('91')?.length, 8)
    const again = await send(wire, card, '100', data)
    assert.equal(again.fields['39'], wrongChip[name] ?? '88')
    assert.equal(again.fields['55'], undefined)
    const wrong = await chip.present({ atc: 2, changed: { '9F26': '0102030405060708' } })
    const declined = await send(wire, card, '100', wrong.data)
    assert.equal(declined.fields['39'], wrongChip[name] ?? '88')
    wire.close()
  })

  test(`a command to a chip travels over ${name} until an advice says that it was done`, async () => {
    const { card, chip, wire } = await openChip(name)
    const unblock = await service.call('POST', `/card-pin/${card.publicToken}/pin/unblock`)
    assert.equal(unblock.status, 204, unblock.text)
    const answered = await pay(wire, card, chip, 1)
    assert.equal(answered.fields['39'], approved(name))
    const template = Buffer.from(readTags(answered).get('72') ?? [])
    const parts = parseChipData(template)
    assert('tags' in parts)
    const number = Buffer.from(parts.tags.get('9F18') ?? []).toString('hex')
    const results = { '9F5B': `20${number}` }
    const report = { kind: 'approval' } as const
    const { data } = await chip.present({ atc: 1, report, changed: results })
    const advised = await send(wire, card, '120', data, { 39: approved(name) })
    assert.equal(advised.fields['39'], approved(name))
    const [command] = await sql<{ state: string }>(
      service.database,
      'select state from chip_command where public_token = $1',
      [card.publicToken],
    )
    assert.equal(command?.state, 'done')
    const next = await pay(wire, card, chip, 2)
    assert.equal(readTags(next).has('72'), false)
    wire.close()
  })
}

for (const name of profileNames) {
  test(`the country and the local date of a message over ${name} are compared`, async () => {
    const { card, chip, wire } = await openChip(name)
    const is1993 = wire.profile.version === '1993'
    const date = (text: string) => (is1993 ? { 12: `26${text}120000` } : { 13: text })
    const cases = [
      [{}, false],
      [date('1128'), false],
      [date('1127'), true],
      [{ 19: '724' }, false],
      [{ 19: '620' }, true],
      [{ 19: '999' }, false],
    ] as const
    for (const [at, [fields, isOther]] of cases.entries()) {
      const { data } = await chip.present({ atc: at + 1 })
      const answer = await send(wire, card, '100', data, fields)
      assert.equal(answer.fields['39'], approved(name))
      const path = `/cards/${card.publicToken}/authorizations?limit=1`
      const { json } = await service.call('GET', path)
      const { findings } = json[0].checks.find((each: { check: string }) => each.check === 'chip')
      assert.deepEqual(
        findings,
        isOther ? ['data_disagreement'] : undefined,
        JSON.stringify(fields),
      )
    }
    wire.close()
  })
}

for (const name of profileNames) {
  test(`unreadable chip data over ${name} decline as a wrong chip, and refuse no advice`, async () => {
    const { card, wire } = await openChip(name)
    const repeated = '9F36020001'.repeat(2)
    for (const data of ['00', 'FF', '9F', '9F26', '9F268108', '9F26820008', repeated]) {
      const declined = await send(wire, card, '100', data)
      assert.equal(declined.fields['39'], wrongChip[name] ?? '88', data)
      const advised = await send(wire, card, '120', data, { 39: approved(name) })
      assert.equal(advised.fields['39'], approved(name), data)
    }
    const [row] = await sql<{ payments: number }>(
      service.database,
      'select count(*)::integer as payments from payment where public_token = $1',
      [card.publicToken],
    )
    assert.equal(row?.payments, 7, 'each advice is applied')
    wire.close()
  })
}

test('a cryptogram in an advice is used, and no request has it afterwards', async () => {
  const { card, chip, wire } = await openChip('ascii-1987')
  const pay = async (type: '100' | '120', data: string, others: Record<string, string> = {}) =>
    (await send(wire, card, type, data, type === '120' ? { 39: '00', ...others } : others)).fields[
      '39'
    ]
  const { data: advised } = await chip.present({ atc: 5 })
  assert.equal(await pay('120', advised), '00')
  assert.equal(await pay('120', advised), '00', 'advices are accepted')
  assert.equal(await pay('100', advised), '88')
  const { data: paid } = await chip.present({ atc: 6 })
  assert.equal(await pay('100', paid), '00')
  assert.equal(await pay('120', paid), '00', 'as is one after its request')
  const { data: numbered } = await chip.present({ atc: 7, changed: { '5F34': null } })
  assert.equal(await pay('120', numbered, { 23: '001' }), '00')
  assert.equal(await pay('100', numbered, { 23: '001' }), '88', 'of the chip that field 23 names')
  wire.close()
})

test('a wrong cryptogram in an advice is counted, and refuses nothing', async () => {
  const { card, chip, wire } = await openChip('ascii-1987')
  const changed = { '9F26': '0102030405060708' }
  const { data } = await chip.present({ atc: 1, changed })
  assert.equal((await send(wire, card, '120', data, { 39: '00' })).fields['39'], '00')
  const { data: right } = await chip.present({ atc: 1 })
  assert.equal((await send(wire, card, '100', right)).fields['39'], '00', 'it used no counter')
  const [row] = await sql<{ count: number }>(
    service.database,
    `select cardinality(given_at) as "count" from card_mistake
     where public_token = $1 and kind = 'cryptogram'`,
    [card.publicToken],
  )
  assert.equal(row?.count, 1)
  wire.close()
})
