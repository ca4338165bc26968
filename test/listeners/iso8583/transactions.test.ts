import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { type IssuedCard, issueCard, otherDigits } from '../../support/network.ts'
import { openTestService, type TestService } from '../../support/service.ts'
import { connectSwitch, openLink, purchase, type Switch } from '../../support/switch.ts'

let service: TestService
let card: IssuedCard
const wires = new Map<string, Switch>()
before(async () => {
  service = await openTestService({ env: { RATE_LIMIT: 'off' } })
  card = await issueCard(service)
  for (const profile of ['sandbox', 'ascii-1993', 'mastercard-public', 'visa-public']) {
    const wire = await connectSwitch(await openLink(service, { profile }))
    await wire.signOn()
    wires.set(profile, wire)
  }
})

/** Asks without a PIN, and returns field 39. */
const ask = async (
  fields: Record<string, string>,
  profile = 'sandbox',
  mti = profile === 'ascii-1993' ? '1200' : '0200',
): Promise<string | undefined> => {
  const { 52: _, 53: __, 22: ___, ...common } = purchase(service, card)
  const { entryMode } = wires.get(profile)?.profile ?? {}
  const modes: Record<string, string> = { 'ascii-1993': '000000500000', 'visa-public': '0510' }
  const whole = { ...common, [entryMode?.field ?? '22']: modes[profile] ?? '051', ...fields }
  if (profile === 'ascii-1993') {
    const { 18: category = '', 25: ____, ...others } = whole as Record<string, string>
    const instant = new Date().toISOString().replace(/[-:T]/g, '').slice(2, 14)
    return (await wires.get(profile)?.ask(mti, { ...others, 12: instant, 26: category }))
      ?.fields[39]
  }
  return (await wires.get(profile)?.ask(mti, whole))?.fields[39]
}

const readNewest = async () =>
  (await service.call('GET', `/cards/${card.publicToken}/authorizations?limit=1`)).json[0]

test('a purchase is recorded with the amount, currency and merchant of its message', async () => {
  const location = `${'Corner Bakery'.padEnd(25)}${'Madrid'.padEnd(13)}ES`
  assert.equal(await ask({ 18: '0742', 42: 'SHOP-1'.padEnd(15), 43: location }), '00')
  const { amount, currency, merchant, transactionType } = await readNewest()
  assert.deepEqual([amount, currency, transactionType], [1000, 'EUR', 'purchase'])
  assert.deepEqual(merchant, {
    id: 'SHOP-1',
    terminalId: 'TERM0001',
    name: 'Corner Bakery',
    city: 'Madrid',
    country: 'ESP',
    categoryCode: '0742',
  })
})

const locations = {
  'ascii-1993': 'Corner Bakery\\Main Street 1\\Boston\\02101     MA USA',
  'mastercard-public': `${'Corner Bakery'.padEnd(23)}${'Boston'.padEnd(14)}USA`,
  'visa-public': `${'Corner Bakery'.padEnd(25)}${'Boston'.padEnd(13)}US`,
}
for (const [profile, location] of Object.entries(locations)) {
  test(`${profile} has name, city and country of a merchant at their places`, async () => {
    const answer = await ask({ 43: location }, profile)
    assert.equal(answer, profile === 'ascii-1993' ? '000' : '00')
    const { amount, currency, merchant } = await readNewest()
    assert.deepEqual([amount, currency], [1000, 'EUR'])
    const { categoryCode, city, country, name } = merchant
    assert.deepEqual([name, city, country], ['Corner Bakery', 'Boston', 'USA'])
    assert.equal(categoryCode, '5411')
  })
}

test('a region in the place of a country is no country', async () => {
  const location = `${'Corner Bakery'.padEnd(23)}${'Boston'.padEnd(14)}MA `
  assert.equal(await ask({ 43: location }, 'mastercard-public'), '00')
  const { merchant } = await readNewest()
  assert.equal(merchant.city, 'Boston')
  assert(!('country' in merchant))
})

for (const [code, transactionType] of Object.entries({
  '01': 'cash',
  '09': 'cashback',
  10: 'funding',
  11: 'quasiCash',
  17: 'cash',
  18: 'quasiCash',
  20: 'refund',
  26: 'credit',
  28: 'credit',
})) {
  test(`processing code ${code} is recorded as ${transactionType}`, async () => {
    assert.equal(await ask({ 3: `${code}0000` }), '00')
    assert.equal((await readNewest()).transactionType, transactionType)
  })
}

test('an amount is in the smallest unit of its currency, named by either code', async () => {
  for (const [code, currency] of Object.entries({ 392: 'JPY', 414: 'KWD', USD: 'USD' })) {
    assert.equal(await ask({ 4: '000000012345', 6: '000000001000', 49: code, 51: '978' }), '00')
    const newest = await readNewest()
    assert.deepEqual([newest.amount, newest.currency], [12_345, currency])
  }
})

test('a billing amount is what the cardholder is charged, in its own currency', async () => {
  const dollars = { 4: '000000001234', 49: '840' }
  assert.equal(await ask({ ...dollars, 6: '000000001118', 51: '978' }), '00')
  const { amount, billingAmount, billingCurrency, currency } = await readNewest()
  assert.deepEqual([amount, currency], [1234, 'USD'])
  assert.deepEqual([billingAmount, billingCurrency], [1118, 'EUR'])
  assert.equal(await ask({ ...dollars, 51: '978' }), '57')
  assert.equal((await readNewest()).declineReason, 'currency_not_supported')
  for (const fields of [
    { ...dollars, 6: '000000001118' },
    { ...dollars, 6: '000000001118', 51: '999' },
  ]) {
    assert.equal(await ask(fields), '30')
  }
})

test('an inquiry is recorded, and declined because only a balance could answer it', async () => {
  for (const code of ['300000', '310000']) {
    assert.equal(await ask({ 3: code }), '57')
    const { declineReason, transactionType } = await readNewest()
    assert.deepEqual([transactionType, declineReason], ['inquiry', 'inquiry_not_supported'])
  }
  assert.equal(await ask({ 24: '108' }, 'ascii-1993'), '119')
  assert.equal((await readNewest()).transactionType, 'inquiry')
})

const networkIds = {
  sandbox: [{ 63: 'NET000000000001' }, 'NET000000000001'],
  'mastercard-public': [{ 63: 'MCC123456 ' }, 'MCC123456'],
  'visa-public': [{ 62: 'C000000000000000C50123456789012345' }, '123456789012345'],
} as const
for (const [profile, [fields, id]] of Object.entries(networkIds)) {
  test(`${profile} has the network's id of a transaction at its place`, async () => {
    assert.equal(await ask(fields, profile), '00')
    assert.equal((await readNewest()).networkTransactionId, id)
  })
}

test('what is no id of the network at its place is replaced, and declines nothing', async () => {
  const { pan } = card
  for (const [profile, fields] of [
    ['sandbox', { 63: 'NETWORKTRACE=OK' }],
    ['sandbox', { 63: pan.slice(0, 15) }],
    ['visa-public', { 62: '4000000000000000E8' }],
    ['visa-public', { 62: '2000000000000000F1F2F3F4' }],
  ] as const) {
    assert.equal(await ask(fields, profile), '00')
    const { networkTransactionId } = await readNewest()
    assert.match(networkTransactionId, /^[A-Z0-9]{15}$/, JSON.stringify(fields))
    assert(!JSON.stringify(fields).includes(networkTransactionId))
  }
})

const addresses = [
  [{ 93: '12345', 94: '1' }, 'Y'],
  [{ 93: '1 2-345' }, 'Z'],
  [{ 93: '99999', 94: '1 Main' }, 'A'],
  [{ 93: '99999', 94: '77' }, 'N'],
] as const
for (const [parts, code] of addresses) {
  test(`an address is compared with that of the card, and answered ${code}`, async () => {
    const { addressLine1, postCode } = { addressLine1: '1 Main Street', postCode: '12345' }
    const address = { addressLine1, postCode, country: 'USA' }
    const holder = await issueCard(service, { address })
    const texts = Object.entries(parts).map(
      ([tag, text]) => `${tag}${String(text.length).padStart(2, '0')}${text}`,
    )
    const { 52: _, 53: __, ...fields } = purchase(service, holder, { 48: texts.join('') })
    const answer = await wires.get('sandbox')?.ask('0100', fields)
    assert.deepEqual([answer?.fields[39], answer?.fields[48]], ['00', `8301${code}`])
    // Visa has both texts in one field, and no CVV2 was asked about.
    const given = `${'93' in parts ? parts[93] : ''}`.padEnd(9) + ('94' in parts ? parts[94] : '')
    const { 48: ___, 22: ____, ...common } = fields
    const visa = { ...common, 22: '0510', 123: given, 11: '004812' }
    const shown = await wires.get('visa-public')?.ask('0100', visa)
    assert.deepEqual([shown?.fields[39], shown?.fields[44]], ['00', ` ${code}`])
  })
}

test('an amount without a known currency is a format error, and spends no try', async () => {
  const wrong = { pin: otherDigits(card.pin) }
  const { 49: _, ...without } = purchase(service, card, wrong)
  const { 4: __, ...alone } = purchase(service, card, wrong)
  const wire = wires.get('sandbox')
  for (const fields of [without, alone, purchase(service, card, { ...wrong, 49: '999' })]) {
    assert.equal((await wire?.ask('0100', fields))?.fields[39], '30')
  }
  const status = await service.call('GET', `/card-pin/${card.publicToken}/pin/status`)
  assert.equal(status.json.remainingTries, 3)
})

test('a text of a merchant that holds a card number is left out, and declines nothing', async () => {
  const location = `${card.pan.padEnd(25)}${'Madrid'.padEnd(13)}ES`
  assert.equal(await ask({ 43: location }), '00')
  const { merchant } = await readNewest()
  assert.equal(merchant.city, 'Madrid')
  assert(!('name' in merchant))
})

test('a reference that holds digits of the card number is replaced by the trace number', async () => {
  assert.equal(await ask({ 11: '004711', 37: card.pan.slice(0, 12) }), '00')
  assert.equal((await readNewest()).reference, 'trace-004711')
})

test('a message without amount and currency is authorized without them', async () => {
  const { 4: _, 49: __, 52: ___, 53: ____, ...fields } = purchase(service, card)
  assert.equal((await wires.get('sandbox')?.ask('0100', fields))?.fields[39], '00')
  assert(!('amount' in (await readNewest())))
})
