import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { type IssuedCard, issueCard } from '../../support/network.ts'
import { openTestService, type TestService } from '../../support/service.ts'
import { connectSwitch, nextTrace, openLink, purchase, type Switch } from '../../support/switch.ts'

let service: TestService
let wire: Switch
before(async () => {
  service = await openTestService({ env: { RATE_LIMIT: 'off' } })
  wire = await connectSwitch(await openLink(service))
  await wire.signOn()
})

type Fields = Record<string, string>

/** A message without a PIN, about 12.00 EUR. */
const about = (card: IssuedCard, fields: Fields = {}): Fields => {
  const { 52: _, 53: __, ...others } = purchase(service, card, { 4: '000000001200' })
  return { ...others, 7: '1122170000', 11: nextTrace(), ...fields }
}

const ask = async (mti: string, fields: Fields, on = wire): Promise<string | undefined> =>
  (await on.ask(mti, fields)).fields['39']

/** The original of a reversal, and what remains of it. */
const reverse = (original: Fields, remaining?: number): Fields => ({
  ...original,
  11: nextTrace(),
  90: `0200${original[11]}${original[7]}${'123456'.padStart(11, '0')}${'0'.repeat(11)}`,
  ...(remaining !== undefined && { 95: String(remaining).padStart(12, '0').padEnd(42, '0') }),
})

interface Payment {
  readonly openedBy: string
  readonly approved: number
  readonly reversed: number
  readonly refunded: number
  readonly open: number
  readonly currency: string
}

const payments = {
  name: 'payments-of-a-card',
  text: `select opened_by as "openedBy", approved::float8 as "approved",
      reversed::float8 as "reversed", refunded::float8 as "refunded",
      (approved - reversed - cleared)::float8 as "open", currency_code as "currency"
    from payment where public_token = $1 order by payment_id`,
}
const read = ({ publicToken }: IssuedCard): Promise<Payment[]> =>
  service.database.query<Payment>(payments, [publicToken])

/** Approves a purchase, and returns its message. */
async function buy(card: IssuedCard, fields: Fields = {}, on = wire): Promise<Fields> {
  const bought = about(card, fields)
  assert.equal(await ask('0200', bought, on), '00')
  return bought
}

test('a reversal takes back what its purchase holds, once', async () => {
  const card = await issueCard(service)
  const bought = await buy(card)
  const reversal = reverse(bought)
  for (const mti of ['0400', '0401', '0420', '0421']) assert.equal(await ask(mti, reversal), '00')
  const [payment, ...others] = await read(card)
  assert.deepEqual([payment?.approved, payment?.reversed], [1200, 1200])
  assert.deepEqual(others, [])
})

test('field 95 says what remains, however often the amount is replaced', async () => {
  const card = await issueCard(service)
  const bought = await buy(card)
  for (const [remaining, open] of [
    [900, 900],
    [900, 900],
    [200, 200],
    // It never grows again.
    [500, 200],
    [0, 0],
  ] as const) {
    assert.equal(await ask('0400', reverse(bought, remaining)), '00')
    assert.equal((await read(card))[0]?.open, open)
  }
})

test('a purchase in another currency is reversed in that of the card', async () => {
  const card = await issueCard(service)
  const dollars = { 4: '000000001500', 6: '000000001400', 49: '840', 51: '978' }
  const bought = await buy(card, dollars)
  assert.deepEqual((await read(card))[0]?.open, 1400)
  // What remains is in dollars, and no rate is known.
  assert.equal(await ask('0400', reverse(bought, 700)), '30')
  const { 6: _, 51: __, ...unconverted } = reverse(bought)
  for (const mti of ['0400', '0401']) assert.equal(await ask(mti, unconverted), '00')
  assert.equal((await read(card))[0]?.open, 0)
})

test('what remains is read from the billing part where the profile has one', async () => {
  const card = await issueCard(service)
  const other = await connectSwitch(await openLink(service, { profile: 'mastercard-public' }))
  await other.signOn()
  const converted = { 4: '000000001500', 6: '000000001400', 49: '840', 51: '978' }
  const bought = await buy(card, { ...converted, 63: 'MCC123456' }, other)
  const remaining = `${'700'.padStart(12, '0')}${'0'.repeat(12)}${'650'.padStart(12, '0')}000000`
  assert.equal(await ask('0400', { ...reverse(bought), 95: remaining }, other), '00')
  assert.equal((await read(card))[0]?.open, 650)
})

test('a reversal of an unknown purchase is answered 25, and declines the purchase', async () => {
  const card = await issueCard(service)
  const late = about(card)
  assert.equal(await ask('0400', reverse(late)), '25')
  assert.equal(await ask('0200', late), '94')
  assert.deepEqual(await read(card), [])
})

test('a reversal of a declined purchase declines no later one of the same numbers', async () => {
  const card = await issueCard(service)
  const declined = about(card, { 14: '3101', 37: '000000004711' })
  assert.equal(await ask('0200', declined), '54')
  assert.equal(await ask('0400', reverse(declined)), '00')
  const later = { ...declined, 11: nextTrace(), 14: about(card)[14] ?? '' }
  assert.equal(await ask('0200', later), '00')
})

test('a reversal without a card number finds the payment by its original', async () => {
  const card = await issueCard(service)
  const bought = await buy(card)
  const { 2: _, 14: __, ...unnamed } = reverse(bought)
  assert.equal(await ask('0420', unnamed), '00')
  assert.equal((await read(card))[0]?.open, 0)
})

test('an increment adds its amount to the payment of the same network id', async () => {
  const card = await issueCard(service)
  const room = { 63: 'HOTEL0000000001', 18: '7011' }
  await buy(card, room)
  const increment = await buy(card, { ...room, 4: '000000000300', 24: '106' })
  assert.equal(await ask('0201', increment), '00')
  assert.deepEqual(
    (await read(card)).map(({ approved }) => approved),
    [1500],
  )
  // A reversal of the increment takes back the increment alone.
  assert.equal(await ask('0400', reverse(increment)), '00')
  assert.deepEqual(
    (await read(card)).map(({ open }) => open),
    [1200],
  )
})

test('a new total holds the difference, and never less than before', async () => {
  const card = await issueCard(service)
  const room = { 63: 'HOTEL0000000002', 18: '7011' }
  await buy(card, room)
  const raised = await buy(card, { ...room, 4: '000000002000', 24: '102' })
  assert.equal(await ask('0201', raised), '00')
  assert.deepEqual(
    (await read(card)).map(({ open }) => open),
    [2000],
  )
  await buy(card, { ...room, 4: '000000001000', 24: '102' })
  assert.deepEqual(
    (await read(card)).map(({ open }) => open),
    [2000],
  )
})

test('two increments with new totals at once hold the greater total', async () => {
  const card = await issueCard(service)
  const room = { 63: 'HOTEL0000000010', 18: '7011' }
  await buy(card, room)
  await Promise.all(
    ['000000002000', '000000002500', '000000002000'].map((total) =>
      buy(card, { ...room, 4: total, 24: '102' }),
    ),
  )
  assert.deepEqual(
    (await read(card)).map(({ open }) => open),
    [2500],
  )
})

test('a new total is that of the payment that is held, beside a newer one that was taken back', async () => {
  const card = await issueCard(service)
  const room = { 63: 'HOTEL0000000009', 18: '7011' }
  await buy(card, room)
  const mistaken = await buy(card, room)
  assert.equal(await ask('0400', reverse(mistaken)), '00')
  await buy(card, { ...room, 4: '000000002000', 24: '102' })
  assert.deepEqual(
    (await read(card)).map(({ open }) => open),
    [2000, 0],
  )
})

test('an increment without a known payment opens one of its own', async () => {
  const card = await issueCard(service)
  await buy(card, { 63: 'HOTEL0000000003', 24: '106' })
  assert.deepEqual(
    (await read(card)).map(({ openedBy, open }) => [openedBy, open]),
    [['increment', 1200]],
  )
})

for (const mti of ['0120', '0220']) {
  test(`an advice ${mti} of fuel completes the hold, once`, async () => {
    const card = await issueCard(service)
    const pump = await buy(card, { 4: '000000010000', 18: '5542', 63: `FUEL${mti}` })
    const advice = { ...pump, 4: '000000004711', 11: nextTrace() }
    for (const repeat of [mti, `${mti.slice(0, 3)}1`]) {
      assert.equal(await ask(repeat, advice), '00')
    }
    assert.deepEqual(
      (await read(card)).map(({ open }) => open),
      [4711],
    )
    assert.equal(await ask(`${mti.slice(0, 3)}1`, { ...advice, 4: '000000004712' }), '94')
  })
}

test('an advice of what the network approved in stand-in opens a payment', async () => {
  const card = await issueCard(service)
  assert.equal(await ask('0120', about(card, { 39: '00' })), '00')
  assert.deepEqual(
    (await read(card)).map(({ openedBy, open }) => [openedBy, open]),
    [['advice', 1200]],
  )
})

test('an advice of what the network declined holds nothing', async () => {
  const card = await issueCard(service)
  for (const code of ['05', '51', '55']) {
    assert.equal(await ask('0120', about(card, { 39: code })), '00')
  }
  assert.deepEqual(await read(card), [])
})

test('an advice of a refund credits the payment of its network id, or one of its own', async () => {
  const card = await issueCard(service)
  const bought = await buy(card, { 63: 'SHOP00000000001' })
  const refund = { ...bought, 3: '200000', 4: '000000000500', 11: nextTrace() }
  for (const mti of ['0220', '0221']) assert.equal(await ask(mti, refund), '00')
  assert.equal(await ask('0220', about(card, { 3: '200000' })), '00')
  assert.deepEqual(
    (await read(card)).map(({ openedBy, refunded }) => [openedBy, refunded]),
    [
      ['authorization', 500],
      ['refund', 1200],
    ],
  )
})

test('an account check and a refund request are approved and hold nothing', async () => {
  const card = await issueCard(service)
  await buy(card, { 4: '000000000000' })
  await buy(card, { 3: '200000' })
  assert.deepEqual(await read(card), [])
})

test('a terminal that can take a part gets what a limit leaves, with the requested amount', async () => {
  const card = await issueCard(service)
  const limits = [{ period: 'day', maximumAmount: 2_000 }]
  await service.call('PUT', `/cards/${card.publicToken}/controls`, { body: { version: 0, limits } })
  const whole = about(card, { 48: '61051    ', 4: '000000002500' })
  const { fields } = await wire.ask('0200', whole)
  assert.deepEqual([fields['39'], fields['4']], ['10', '000000002000'])
  assert.equal(fields['54'], '0057978D000000002500')
  assert.match(fields['38'] ?? '', /^[0-9A-Z]{6}$/)
  const repeat = await wire.ask('0201', whole)
  assert.deepEqual(repeat.fields, fields)
  assert.equal((await read(card))[0]?.approved, 2_000)
  // A terminal that cannot take a part gets none.
  assert.equal(await ask('0200', about(card, { 4: '000000002500' })), '61')
  assert.equal(await ask('0400', reverse(whole)), '00')
  assert.equal((await read(card))[0]?.open, 0)
})

test('each profile says by its own field that a terminal can take a part', async () => {
  const limits = [{ period: 'day', maximumAmount: 2_000 }]
  const indicated = {
    'ascii-1987': [{ 48: '61051    ' }, '61'],
    'mastercard-public': [{ 48: 'R61051    ' }, '10'],
    'visa-public': [{ 22: '0510', 60: '000000000001' }, '10'],
  } as const
  for (const [profile, [members, code]] of Object.entries(indicated)) {
    const card = await issueCard(service)
    const path = `/cards/${card.publicToken}/controls`
    await service.call('PUT', path, { body: { version: 0, limits } })
    const other = await connectSwitch(await openLink(service, { profile }))
    await other.signOn()
    const sent = about(card, { 4: '000000002500', ...members })
    assert.equal(await ask('0200', sent, other), code, profile)
  }
})

test('the cash of a purchase is read from the additional amounts, in the currency of the amount', async () => {
  const card = await issueCard(service)
  const cash = '0040978D000000000300'
  const others = '0002978C000000099900' + '0040840D000000000700'
  const read54 = async (fields: Fields) => {
    await ask('0200', about(card, { 3: '090000', ...fields }))
    const path = `/cards/${card.publicToken}/authorizations?limit=1`
    const [newest] = (await service.call('GET', path)).json
    return [newest.amount, newest.cashbackAmount]
  }
  assert.deepEqual(await read54({ 54: cash }), [1_200, 300])
  assert.deepEqual(await read54({ 54: others + cash }), [1_200, 300])
  assert.deepEqual(await read54({ 54: others }), [1_200, undefined])
  assert.deepEqual(await read54({ 3: '000000', 54: cash }), [1_200, undefined])
  const tooMuch = about(card, { 3: '090000', 54: '0040978D000000001201' })
  assert.equal(await ask('0200', tooMuch), '30')
})

const readOpen = async (card: IssuedCard) => (await read(card)).map(({ open }) => open)

const cashBack = { 3: '090000', 4: '000000005000', 54: '0040978D000000002000' }

test('a reversal of less than the cash takes back its own amount', async () => {
  const card = await issueCard(service)
  const bought = await buy(card, cashBack)
  assert.equal(await ask('0420', { ...reverse(bought), 4: '000000000500' }), '00')
  assert.deepEqual(await readOpen(card), [4500])
})

test('a reversal under another processing code takes back its own amount', async () => {
  const card = await issueCard(service)
  const bought = await buy(card, { 63: 'SHOP00000000002' })
  for (const [code, open] of [
    ['990000', 700],
    ['310000', 200],
  ] as const) {
    assert.equal(await ask('0420', { ...reverse(bought), 3: code, 4: '000000000500' }), '00')
    assert.deepEqual(await readOpen(card), [open])
  }
})

test('a reversal or an advice whose amount is unreadable is answered 30, and changes nothing', async () => {
  const card = await issueCard(service)
  const bought = await buy(card)
  const { 49: _, ...others } = bought
  const unreadable = [others, { ...bought, 49: '000' }, { ...bought, 6: '000000000500' }]
  for (const fields of unreadable) {
    const sent = { ...fields, 4: '000000000500', 11: nextTrace() }
    for (const mti of ['0120', '0220']) assert.equal(await ask(mti, sent), '30')
    for (const mti of ['0400', '0420']) {
      assert.equal(await ask(mti, { ...sent, 90: reverse(bought)[90] ?? '' }), '30')
      assert.equal(await ask(mti, { ...reverse(bought, 700), ...sent, 49: '000' }), '30')
    }
  }
  assert.deepEqual(await readOpen(card), [1200])
  assert.equal(await ask('0201', bought), '00')
})

test('a reversal without an amount takes back everything, with or without a currency', async () => {
  for (const dropped of [['4'], ['4', '49']]) {
    const card = await issueCard(service)
    const sent = Object.entries(reverse(await buy(card)))
    const kept = Object.fromEntries(sent.filter(([field]) => !dropped.includes(field)))
    assert.equal(await ask('0420', kept), '00')
    assert.deepEqual(await readOpen(card), [0])
  }
})

test('a reversal of 0 takes back nothing, unless it says that nothing remains', async () => {
  const card = await issueCard(service)
  const bought = await buy(card)
  const nothing = { 4: '000000000000' }
  assert.equal(await ask('0420', { ...reverse(bought), ...nothing }), '00')
  assert.equal(await ask('0420', { ...reverse(bought), ...nothing, 49: '840' }), '00')
  assert.deepEqual(await readOpen(card), [1200])
  assert.equal(await ask('0420', { ...reverse(bought, 0), ...nothing }), '00')
  assert.deepEqual(await readOpen(card), [0])
})

test('an advice of less than the cash holds its own amount', async () => {
  const card = await issueCard(service)
  const bought = about(card, cashBack)
  assert.equal(await ask('0100', bought), '00')
  assert.equal(await ask('0220', { ...bought, 4: '000000001500', 11: nextTrace() }), '00')
  assert.deepEqual(await readOpen(card), [1500])
})

test('an advice of 0 releases the hold, and opens no payment', async () => {
  const card = await issueCard(service)
  const pump = about(card, { 4: '000000010000', 18: '5542', 63: 'FUEL00000000003' })
  assert.equal(await ask('0100', pump), '00')
  const unfuelled = { ...pump, 4: '000000000000', 11: nextTrace() }
  for (const mti of ['0220', '0221']) assert.equal(await ask(mti, unfuelled), '00')
  assert.deepEqual(await readOpen(card), [0])
  const checked = { 4: '000000000000', 39: '00' }
  assert.equal(await ask('0120', about(card, checked)), '00')
  assert.equal(await ask('0120', about(card, { ...checked, 49: '840' })), '00')
  assert.equal(await ask('0220', about(card, { ...checked, 3: '200000' })), '00')
  assert.deepEqual(await readOpen(card), [0])
})

test('a billing amount of 0 beside another amount is ignored in advices and reversals', async () => {
  const card = await issueCard(service)
  const unbilled = { 6: '000000000000', 51: '978' }
  const bought = await buy(card, { 63: 'SHOP00000000003' })
  assert.equal(await ask('0420', { ...reverse(bought), ...unbilled, 4: '000000000500' }), '00')
  assert.deepEqual(await readOpen(card), [700])
  const advice = { ...bought, ...unbilled, 4: '000000000300', 11: nextTrace() }
  assert.equal(await ask('0220', advice), '00')
  assert.deepEqual(await readOpen(card), [300])
})

test('an advice under the key of another processing code is answered 94', async () => {
  for (const [first, second] of [
    ['000000', '200000'],
    ['200000', '000000'],
  ] as const) {
    const card = await issueCard(service)
    const advice = about(card, { 3: first, 4: '000000002000' })
    for (const mti of ['0120', '0121']) assert.equal(await ask(mti, advice), '00')
    const known = await read(card)
    assert.equal(await ask('0121', { ...advice, 3: second, 4: '000000002500' }), '94')
    assert.deepEqual(await read(card), known)
  }
})
