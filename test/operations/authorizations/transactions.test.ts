import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import {
  ask,
  cvvTry,
  type IssuedCard,
  issueCard,
  otherDigits,
  pinTry,
} from '../../support/network.ts'
import type { TestService } from '../../support/service.ts'
import { onEachEngine } from './engines.ts'
import { eventsOf } from './tried.ts'

const merchant = {
  id: 'SHOP-1',
  terminalId: 'TERM0001',
  name: 'Corner Bakery',
  city: 'Zürich',
  country: 'CHE',
  categoryCode: '0742',
}
const transaction = {
  amount: 1234,
  currency: 'USD',
  billingAmount: 1118,
  billingCurrency: 'EUR',
  transactionType: 'cashback',
  merchant,
  networkTransactionId: '123456789012345',
}

onEachEngine((engine) => {
  let service: TestService
  let card: IssuedCard
  before(async () => {
    service = await engine.openOne()
    card = await issueCard(service)
  })

  const readNewest = async () => {
    const { json } = await service.call('GET', `/cards/${card.publicToken}/authorizations?limit=1`)
    return json[0]
  }
  const pick = (read: Record<string, unknown>) =>
    Object.fromEntries(Object.keys(transaction).map((name) => [name, read[name]]))

  const requests: Record<string, () => object> = {
    'without a try': () => ({ publicToken: card.publicToken }),
    'with a PIN': () => pinTry(service, card),
    'with a wrong CVV2': () => cvvTry(card, otherDigits(card.cvv2)),
    'with a PIN and a CVV2': () => ({ ...pinTry(service, card), cvv2: card.cvv2 }),
  }
  for (const [title, request] of Object.entries(requests)) {
    test(`an authorization ${title} is recorded with its amount and its merchant`, async () => {
      const answer = await ask(service, { ...request(), ...transaction })
      assert.equal(answer.status, 200)
      assert.deepEqual(pick(await readNewest()), transaction)
      const event = (await eventsOf(service.database, card.publicToken)).at(-1)
      assert.match(event?.type ?? '', /^authorization\./)
      assert.deepEqual(pick(JSON.parse(event?.details ?? '')), transaction)
    })
  }

  test('authorizations at the same time are each recorded with their own transaction', async () => {
    const cards = await Promise.all(Array.from({ length: 6 }, () => issueCard(service)))
    const amounts = await Promise.all(
      cards.map(async (each, index) => {
        const currency = index % 2 ? 'JPY' : 'KWD'
        const members = { ...transaction, amount: index, currency, billingAmount: 100 + index }
        await Promise.all([
          ask(service, { ...pinTry(service, each), ...members }),
          ask(service, { publicToken: each.publicToken, ...members }),
        ])
        const address = `/cards/${each.publicToken}/authorizations`
        return (await service.call('GET', address)).json.map(pick)
      }),
    )
    for (const [index, listed] of amounts.entries()) {
      const currency = index % 2 ? 'JPY' : 'KWD'
      const due = { ...transaction, amount: index, currency, billingAmount: 100 + index }
      assert.deepEqual(listed, [due, due])
    }
  })

  test('an authorization that says nothing of a transaction is a purchase', async () => {
    assert.equal((await ask(service, { publicToken: card.publicToken })).status, 200)
    const { transactionType, ...recorded } = await readNewest()
    assert.equal(transactionType, 'purchase')
    for (const member of Object.keys(transaction).filter((name) => name !== 'transactionType')) {
      assert(!(member in recorded), member)
    }
  })

  test('the largest amount is recorded to its last digit', async () => {
    const amount = 999_999_999_999
    const billing = { billingAmount: amount, billingCurrency: 'EUR' }
    await ask(service, { publicToken: card.publicToken, amount, currency: 'IDR', ...billing })
    const { amount: recorded, billingAmount } = await readNewest()
    assert.deepEqual([recorded, billingAmount], [amount, amount])
  })

  test('a repeat with another amount is refused', async () => {
    const headers = { 'idempotency-key': randomUUID() }
    const body = { publicToken: card.publicToken, reference: 'R-1', amount: 100, currency: 'EUR' }
    assert.equal((await ask(service, body, { headers })).status, 200)
    assert.equal((await ask(service, body, { headers })).headers['idempotency-replayed'], 'true')
    const { json } = await ask(service, { ...body, amount: 101 }, { headers })
    assert.equal(json.code, 'idempotency_key_reused')
  })

  test('a repeat that spells out what the first request left out gets its answer', async () => {
    const headers = { 'idempotency-key': randomUUID() }
    const body = { publicToken: card.publicToken, reference: 'R-2', amount: 100, currency: 'EUR' }
    assert.equal((await ask(service, body, { headers })).status, 200)
    for (const members of [{ transactionType: 'purchase' }, { merchant: {} }]) {
      const repeat = await ask(service, { ...body, ...members }, { headers })
      assert.equal(repeat.headers['idempotency-replayed'], 'true')
    }
    const { json } = await ask(service, { ...body, transactionType: 'cash' }, { headers })
    assert.equal(json.code, 'idempotency_key_reused')
  })

  test('a merchant without members is no merchant', async () => {
    await ask(service, { publicToken: card.publicToken, merchant: {} })
    assert(!('merchant' in (await readNewest())))
  })

  test('only what is charged in the currency of the product is approved', async () => {
    const foreign = { publicToken: card.publicToken, amount: 1234, currency: 'USD' }
    const converted = { ...foreign, billingAmount: 1118 }
    const cases: readonly (readonly [request: object, responseCode: string])[] = [
      [foreign, '57'],
      [{ ...foreign, currency: 'EUR' }, '00'],
      [{ ...converted, billingCurrency: 'EUR' }, '00'],
      [{ ...converted, billingCurrency: 'GBP' }, '57'],
      [{ ...converted, currency: 'EUR', billingCurrency: 'GBP' }, '57'],
      // There is nothing to convert.
      [{ ...foreign, amount: 0 }, '00'],
    ]
    for (const [request, responseCode] of cases) {
      const { json } = await ask(service, request)
      assert.equal(json.responseCode, responseCode, JSON.stringify(request))
    }
  })

  test('an inquiry and another currency spend no try, alone or at the same time', async () => {
    const other = await issueCard(service)
    const wrong = pinTry(service, other, otherDigits(other.pin))
    const declined = [
      { ...wrong, transactionType: 'inquiry' },
      { ...wrong, amount: 1, currency: 'USD' },
      { ...cvvTry(other, otherDigits(other.cvv2)), amount: 1, currency: 'USD' },
    ]
    const answers = await Promise.all([...declined, ...declined].map((each) => ask(service, each)))
    for (const { json } of answers) {
      assert.equal(json.responseCode, '57')
      assert.deepEqual(
        [json.pin, json.cvv],
        Array(2).fill({ result: 'not_checked', remainingTries: 3 }),
      )
    }
  })

  test('an operator reads the transaction of an authorization, and sees it in the history', async ({
    mock,
  }) => {
    const warn = mock.method(console, 'warn')
    await ask(service, { publicToken: card.publicToken, ...transaction })
    const options = { as: 'admin', listener: 'private' } as const
    const listed = await service.call('GET', `//cards/${card.publicToken}/authorizations`, options)
    assert.deepEqual(pick(listed.json[0]), transaction)
    const { json } = await service.call('GET', `//cards/${card.publicToken}/timeline`, options)
    const newest = json.find(({ kind }: { kind: string }) => kind === 'authorization')
    assert.deepEqual(pick(newest.authorization), transaction)
    // The log has lines of JSON only.
    assert.equal(warn.mock.callCount(), 0)
  })

  test('no text of a request may hold digits of its card number', async () => {
    const { pan } = card
    const part = pan.slice(0, 15)
    const texts: Record<string, object> = {
      '/merchant/id': { merchant: { id: part } },
      '/merchant/name': { merchant: { name: pan.match(/.{4}/g)?.join('.') } },
      '/networkTransactionId': { networkTransactionId: part },
      '/reference': { reference: part },
    }
    for (const [pointer, members] of Object.entries(texts)) {
      const { json } = await ask(service, { pan, ...members })
      assert.equal(json.code, 'validation_failed', pointer)
      assert.deepEqual(json.errors[0].pointer, pointer)
    }
    assert.equal((await ask(service, { pan, merchant: { id: '4'.repeat(15) } })).status, 200)
  })

  test('an address is compared with that of the card, and declines nothing', async () => {
    const address = { addressLine1: 'Calle Mayor 12', postCode: '28013', country: 'ESP' }
    const holder = await issueCard(service, { address })
    const cases = [
      [{ postalCode: '28013', addressLine: '12' }, 'match', 'match'],
      [{ postalCode: '28014', addressLine: '13' }, 'mismatch', 'mismatch'],
      [{ postalCode: '280 13' }, 'match', 'not_checked'],
    ] as const
    for (const [cardholderAddress, postalCode, addressLine] of cases) {
      const headers = { 'idempotency-key': randomUUID() }
      const request = { ...pinTry(service, holder), reference: 'AVS', cardholderAddress }
      const first = await ask(service, request, { headers })
      assert.equal(first.json.responseCode, '00')
      assert.deepEqual(first.json.address, { postalCode, addressLine })
      assert.deepEqual((await ask(service, request, { headers })).json, first.json)
    }
    const path = `/cards/${holder.publicToken}/authorizations`
    const [{ checks }, mismatched] = (await service.call('GET', path)).json
    const verdicts = (of: { check: string; result: string }[]) =>
      Object.fromEntries(of.map(({ check, result }) => [check, result]))
    assert.equal(verdicts(checks).postal_code, 'passed')
    assert.equal(verdicts(checks).address_line, 'not_given')
    assert.equal(verdicts(mismatched.checks).postal_code, 'failed')
    assert.doesNotMatch(JSON.stringify(checks), /28013/)
    // Without a request there is no answer.
    assert(!('address' in (await ask(service, pinTry(service, holder))).json))
  })

  const refused: Record<string, readonly [members: object, pointer: string]> = {
    'an amount without a currency': [{ amount: 1 }, '/currency'],
    'a currency without an amount': [{ currency: 'EUR' }, '/amount'],
    'a negative amount': [{ amount: -1, currency: 'EUR' }, '/amount'],
    'a fraction of the smallest unit': [{ amount: 1.5, currency: 'EUR' }, '/amount'],
    'an amount as a text': [{ amount: '100', currency: 'EUR' }, '/amount'],
    'an amount of thirteen digits': [{ amount: 1e12, currency: 'EUR' }, '/amount'],
    'a currency that is none': [{ amount: 1, currency: 'EUX' }, '/currency'],
    'a currency by its number': [{ amount: 1, currency: '978' }, '/currency'],
    'a billing amount without a currency': [
      { amount: 1, currency: 'USD', billingAmount: 1 },
      '/billingCurrency',
    ],
    'a billing currency without an amount': [
      { amount: 1, currency: 'USD', billingCurrency: 'EUR' },
      '/billingAmount',
    ],
    'a billing amount of no amount': [
      { billingAmount: 1, billingCurrency: 'EUR' },
      '/billingAmount',
    ],
    'an unknown transaction type': [{ transactionType: 'barter' }, '/transactionType'],
    'a category code as a number': [{ merchant: { categoryCode: 742 } }, '/merchant/categoryCode'],
    'a category code of three digits': [
      { merchant: { categoryCode: '742' } },
      '/merchant/categoryCode',
    ],
    'a card number in the name of a merchant': [
      { merchant: { name: 'Card 4111 1111 1111 1111' } },
      '/merchant/name',
    ],
    'a merchant name of spaces': [{ merchant: { name: '  ' } }, '/merchant/name'],
    'a city of spaces': [{ merchant: { city: '\u00a0' } }, '/merchant/city'],
    'a card number with dots in the name of a merchant': [
      { merchant: { name: 'Card 4111.1111.1111.1111' } },
      '/merchant/name',
    ],
    'a control character in a city': [{ merchant: { city: 'Mad\u0007rid' } }, '/merchant/city'],
    'a merchant id of sixteen characters': [{ merchant: { id: '1'.repeat(16) } }, '/merchant/id'],
    'an unknown country': [{ merchant: { country: 'ES' } }, '/merchant/country'],
    'an unknown member of a merchant': [{ merchant: { street: 'Main' } }, '/merchant/street'],
    'a transaction id with a space': [{ networkTransactionId: '1 2' }, '/networkTransactionId'],
  }
  for (const [title, [members, pointer]] of Object.entries(refused)) {
    test(`${title} is refused at ${pointer}`, async () => {
      const { json, status } = await ask(service, { publicToken: card.publicToken, ...members })
      assert.equal(status, 422)
      assert.equal(json.code, 'validation_failed')
      assert.deepEqual(
        json.errors.map((each: { pointer: string }) => each.pointer),
        [pointer],
      )
    })
  }
})
