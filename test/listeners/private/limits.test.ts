import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openTestService, type TestService } from '../../support/service.ts'

interface Used {
  readonly name: string
  readonly allowed: number
  readonly used: number
  readonly left: number
  readonly windowSeconds: number | null
  readonly freeInSeconds: number | null
  readonly origin: string
  readonly from: string
}

const readAs = async (service: TestService, path: string, scope = 'support.read') => {
  const token = await service.token(scope, 'admin')
  return service.call('GET', `/${path}`, { listener: 'private', token })
}

const named = (limits: readonly Used[], name: string): Used => {
  const found = limits.find((each) => each.name === name)
  assert.ok(found, name)
  return found
}

test('every limit is listed as it holds, with the variable that it comes from or that it is its default', async () => {
  const service = await openTestService({
    env: { REVEALS_PER_CARD_HOUR: '3', TOKEN_RATE_BURST: '12' },
  })
  const { json, status } = await readAs(service, '/limits')
  assert.equal(status, 200)
  const known = new Map<string, object>(json.map((each: { name: string }) => [each.name, each]))
  assert.deepEqual(known.get('reveals-per-card'), {
    name: 'reveals-per-card',
    value: 3,
    unit: 'disclosures an hour',
    origin: 'variable',
    variable: 'REVEALS_PER_CARD_HOUR',
  })
  assert.deepEqual(known.get('delivery-timeout'), {
    name: 'delivery-timeout',
    value: 10_000,
    unit: 'ms for a request to an endpoint',
    origin: 'default',
    variable: 'DELIVERY_TIMEOUT_MS',
  })
  // It follows another one where nothing is said of it itself.
  assert.deepEqual(known.get('token-failures-burst'), {
    name: 'token-failures-burst',
    value: 12,
    unit: 'simultaneous calls',
    origin: 'variable',
    variable: 'TOKEN_RATE_BURST',
  })
})

test('limits that are turned off are said to be off, and by which variable', async () => {
  const service = await openTestService({ env: { RATE_LIMIT: 'off' } })
  const { json } = await readAs(service, '/limits')
  const found = json.find(({ name }: { name: string }) => name === 'unblocks-per-card')
  assert.deepEqual([found.value, found.origin, found.variable], [null, 'variable', 'RATE_LIMIT'])
  const { publicToken } = await service.createCard()
  const left: Used[] = (await readAs(service, `/cards/${publicToken}/limits`)).json
  assert.deepEqual(
    left.map(({ name }) => name),
    ['pin-tries', 'cvv-tries'],
  )
})

test('what is used of the limits on a card is counted, and when there is a use again', async () => {
  const service = await openTestService({ env: { UNBLOCKS_PER_CARD_DAY: '2' } })
  const { publicToken } = await service.createCard()
  const read = async (): Promise<readonly Used[]> =>
    (await readAs(service, `/cards/${publicToken}/limits`)).json
  const fresh = named(await read(), 'unblock-pin')
  assert.deepEqual([fresh.allowed, fresh.used, fresh.left, fresh.freeInSeconds], [2, 0, 2, 0])
  assert.deepEqual([fresh.origin, fresh.from], ['variable', 'UNBLOCKS_PER_CARD_DAY'])
  for (let use = 0; use < 2; use += 1) {
    const { status } = await service.call('POST', `/card-pin/${publicToken}/pin/unblock`)
    assert.equal(status, 204)
  }
  const spent = named(await read(), 'unblock-pin')
  assert.deepEqual([spent.used, spent.left, spent.windowSeconds], [2, 0, 86_400])
  assert.ok(Number(spent.freeInSeconds) > 86_000, `${spent.freeInSeconds}`)
  // It is what the one who is refused is told.
  const refused = await service.call('POST', `/card-pin/${publicToken}/pin/unblock`)
  assert.equal(refused.status, 429)
  const told = Number(refused.headers['retry-after'])
  assert.ok(Math.abs(told - Number(spent.freeInSeconds)) < 600, `${told}`)
  assert.equal(named(await read(), 'unblock-cvv').used, 0)
})

test("a card's tries are limited by its product", async () => {
  const service = await openTestService()
  const { publicToken } = await service.createCard()
  const { json } = await readAs(service, `/cards/${publicToken}/limits`)
  const tries = named(json, 'pin-tries')
  assert.deepEqual([tries.allowed, tries.used, tries.origin, tries.from], [3, 0, 'product', '1001'])
})

test('what is used of the limits of a client is counted over all its cards, and its calls', async () => {
  const service = await openTestService()
  const { publicToken } = await service.createCard()
  assert.equal((await service.call('GET', `/card-pin/${publicToken}/pin`)).status, 200)
  const clientId = 'demo-client'
  const { json } = await readAs(service, `/clients/${clientId}/limits`)
  assert.equal(named(json, 'reveal').used, 1)
  assert.equal(named(json, 'reveal').from, 'REVEALS_PER_CLIENT_HOUR')
  assert.ok(named(json, 'calls').left <= named(json, 'calls').allowed)
})

test('what a card may spend is listed with what it has spent, and when it may spend again', async () => {
  const service = await openTestService({ env: { SANDBOX_CLOCK: '2031-03-15T10:00:00Z' } })
  const { publicToken } = await service.createCard()
  const as = { as: 'admin', listener: 'private' } as const
  const { json: product } = await service.call('GET', '//products/1001/controls', as)
  const ofProduct = await service.call('PUT', '//products/1001/controls', {
    ...as,
    body: {
      version: product.version,
      timeZone: 'Europe/Madrid',
      limits: [{ period: 'day', maximumAmount: 50_000, maximumCount: 3 }],
    },
  })
  assert.equal(ofProduct.status, 200, ofProduct.text)
  const ofCard = await service.call('PUT', `/cards/${publicToken}/controls`, {
    body: {
      version: 0,
      singleUse: true,
      limits: [{ period: 'transaction', channel: 'ecommerce', maximumAmount: 20_000 }],
    },
  })
  assert.equal(ofCard.status, 200, ofCard.text)
  const sold = { publicToken, amount: 1_234, currency: 'EUR', entryMode: 'chip', reference: 'A' }
  await service.call('POST', '//network/authorizations', {
    as: 'network',
    listener: 'private',
    body: sold,
  })
  const { json, status } = await readAs(service, `/cards/${publicToken}/spending`)
  assert.equal(status, 200)
  const { currency, limits, timeZone } = json
  assert.deepEqual([currency, timeZone], ['EUR', 'Europe/Madrid'])
  const [ofDay, ofTransaction, once] = limits
  assert.deepEqual(ofDay, {
    control: 'limits.day',
    owner: 'product',
    period: 'day',
    channel: null,
    maximumAmount: 50_000,
    maximumCount: 3,
    usedAmount: 1_234,
    usedCount: 1,
    resetsAt: '2031-03-15T23:00:00.000Z',
  })
  assert.deepEqual(ofTransaction, {
    control: 'limits.transaction.ecommerce',
    owner: 'card',
    period: 'transaction',
    channel: 'ecommerce',
    maximumAmount: 20_000,
    maximumCount: null,
    usedAmount: 0,
    usedCount: 0,
    resetsAt: null,
  })
  assert.deepEqual(once, {
    control: 'singleUse',
    owner: 'card',
    period: 'lifetime',
    channel: null,
    maximumAmount: null,
    maximumCount: 1,
    usedAmount: 1_234,
    usedCount: 1,
    resetsAt: null,
  })
})

test('limits of a card or client that is not there are not found, and no other scope reads them', async () => {
  const service = await openTestService()
  const card = await readAs(service, '/cards/0000000000/limits')
  assert.deepEqual([card.status, card.json.code], [404, 'card_not_found'])
  const spending = await readAs(service, '/cards/0000000000/spending')
  assert.deepEqual([spending.status, spending.json.code], [404, 'card_not_found'])
  const client = await readAs(service, '/clients/nobody/limits')
  assert.deepEqual([client.status, client.json.code], [404, 'not_found'])
  const ofCard = '/cards/0000000000'
  for (const path of [
    '/limits',
    `${ofCard}/limits`,
    `${ofCard}/spending`,
    '/clients/nobody/limits',
  ]) {
    const refused = await readAs(service, path, 'audit.read')
    assert.deepEqual([refused.status, refused.json.code], [403, 'insufficient_scope'], path)
  }
})
