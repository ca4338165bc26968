import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { Requester } from '../../../src/domain/client.ts'
import { type PublicToken, parseProductId } from '../../../src/domain/identifiers.ts'
import { backTestCard, backTestProduct } from '../../../src/operations/authorizations/back-test.ts'
import type { Database } from '../../../src/storage/engine/database.ts'
import { holdStatement } from '../../support/held-statement.ts'
import { ask, type IssuedCard, issueCard, otherDigits, pinTry } from '../../support/network.ts'
import { sql, type TestService } from '../../support/service.ts'
import { onEachEngine } from './engines.ts'

const lasting = { gone: new AbortController().signal }
const instant = (time: string) => new Date(`2026-03-${time}Z`)
const march = { from: instant('01T00:00:00'), to: instant('31T00:00:00') }

const draft = {
  merchants: { blocked: ['CASINO'] },
  channels: { blocked: ['moto'] },
  limits: [
    { period: 'month', maximumAmount: 4_000 },
    { period: 'month', channel: 'ecommerce', maximumCount: 3 },
    { period: 'month', channel: 'cashback', maximumAmount: 400 },
  ],
} as const

/** Each is sent to a card, and later to another one. */
const purchases = (count: number) =>
  Array.from({ length: count }, (_, place) => ({
    entryMode: ['chip', 'ecommerce', 'contactless', 'moto'][place % 4],
    amount: (place * 7_919) % 700,
    currency: 'EUR',
    transactionType: ['purchase', 'cashback', 'purchase', 'refund', 'purchase'][place % 5],
    merchant: { id: ['BAKERY', 'CASINO', 'HOTEL'][(place * 31) % 3], country: 'ESP' },
    ...(place % 5 === 1 && { cashbackAmount: Math.floor(((place * 7_919) % 700) / 3) }),
    isPinWrong: place % 11 === 10,
  }))

onEachEngine((engine) => {
  let service: TestService
  let requester: Requester
  before(async () => {
    service = await engine.openOne()
    requester = { clientId: service.sandbox?.clientId ?? '', requestId: 'r' }
  })

  const restrict = async (card: IssuedCard, controls: object, version = 0) => {
    const path = `/cards/${card.publicToken}/controls`
    const answer = await service.call('PUT', path, { body: { version, ...controls } })
    assert.equal(answer.status, 200)
  }

  const sendAll = async (card: IssuedCard, requests: ReturnType<typeof purchases>) => {
    const codes: string[] = []
    for (const { isPinWrong, ...request } of requests) {
      const pin = isPinWrong ? pinTry(service, card, otherDigits(card.pin)) : {}
      const named = { publicToken: card.publicToken, ...pin }
      codes.push((await ask(service, { ...named, ...request })).json.responseCode)
      await service.call('POST', `/card-pin/${card.publicToken}/pin/unblock`)
    }
    return codes
  }

  const hour = () => ({
    from: new Date(Date.now() - 3_600_000),
    to: new Date(Date.now() + 3_600_000),
  })

  test('a draft changes what the service would have answered under it', async () => {
    const requests = purchases(60)
    const recorded = await issueCard(service)
    const earlier = await sendAll(recorded, requests)
    const restricted = await issueCard(service)
    await restrict(restricted, draft)
    const later = await sendAll(restricted, requests)
    const result = await backTestCard(
      service,
      requester,
      recorded.publicToken,
      { ...hour(), controls: draft },
      lasting,
    )
    const places = requests.flatMap(({ transactionType }, place) =>
      transactionType === 'refund' ? [] : [place],
    )
    const approvedOf = (codes: readonly string[]) =>
      places.filter((place) => codes[place] === '00').length
    assert.equal(result.recorded.approved.count, approvedOf(earlier))
    assert.equal(result.draft.approved.count, approvedOf(later))
    assert.equal(result.draft.declined.count, places.length - approvedOf(later))
    const changed = places.filter((place) => (earlier[place] === '00') !== (later[place] === '00'))
    assert(changed.length > 10)
    assert.deepEqual(
      result.changes.map(({ transaction }) => [
        transaction.entryMode,
        transaction.money?.amount,
        transaction.merchant?.id,
      ]),
      changed.map((place) => {
        const { amount, entryMode, merchant } = requests[place] ?? {}
        return [entryMode, amount, merchant?.id]
      }),
    )
  })

  test('what a control declined is decided again, and other declines stay', async () => {
    const card = await issueCard(service)
    await restrict(card, draft)
    const requests = purchases(40)
    const codes = await sendAll(card, requests)
    const result = await backTestCard(
      service,
      requester,
      card.publicToken,
      { ...hour(), controls: {} },
      lasting,
    )
    const wrongPins = codes.filter((code) => code === '55').length
    assert(wrongPins > 0)
    assert.equal(result.draft.declined.count, wrongPins)
    assert.equal(result.newlyDeclined.count, 0)
    assert.equal(result.newlyApproved.count, result.recorded.declined.count - wrongPins)
    assert(result.changes.every(({ control, objection }) => control !== null && !objection))
    const recorded = await backTestCard(
      service,
      requester,
      card.publicToken,
      { ...hour(), controls: draft },
      lasting,
    )
    assert.deepEqual([recorded.draft, recorded.changes], [recorded.recorded, []])
  })

  /** Inserts approved purchases, one each minute from an instant on. */
  const record = (publicToken: PublicToken, clientId: string, count: number, from: Date) =>
    sql(
      service.database,
      `insert into authorization_request (public_token, authorization_id, client_id, network_id,
         request_id, reference, entry_mode, amount, currency_code, response_code, checks)
       select $1, (lpad(to_hex($4::bigint + n * 60000), 12, '0') || '7000' ||
         right(md5($1 || n), 16))::uuid, $2, 'demo-network', 'r', 'R', 'chip', 100, 'EUR',
         case when n >= 0 then '00' end, '[]'
       from generate_series(0, $3::integer - 1) as n`,
      [publicToken, clientId, count, from.getTime()],
    )
  const otherClient = () => service.sandbox?.otherClient.clientId ?? ''
  const theProduct = parseProductId('1001') ?? assert.fail()
  const dayLimit = { limits: [{ period: 'day', maximumAmount: 60_000 }] } as const

  test('all pages of a period are read once, from its beginning until before its end', async () => {
    const { publicToken } = await issueCard(service)
    await record(publicToken, requester.clientId, 3_000, instant('10T00:00:00'))
    const count = async (from: string, to: string) => {
      const period = { from: instant(from), to: instant(to) }
      const tested = { ...period, controls: dayLimit }
      const result = await backTestCard(service, requester, publicToken, tested, lasting)
      return [result.recorded.approved.count, result.draft.approved.count]
    }
    // A day has 1,440 minutes.
    assert.deepEqual(await count('01T00:00:00', '31T00:00:00'), [3_000, 600 + 600 + 120])
    assert.deepEqual(await count('10T00:01:00', '10T16:41:00'), [1_000, 600])
    assert.deepEqual(await count('10T00:00:00', '10T00:00:00.001'), [1, 1])
    assert.deepEqual(await count('12T01:59:00.001', '31T00:00:00'), [0, 0])
  })

  test('a back-test of a product decides all its cards, each beside its own controls', async () => {
    await sql(service.database, 'delete from authorization_request')
    const first = await issueCard(service)
    const second = await issueCard(service)
    const admin = { as: 'admin', listener: 'private' } as const
    await service.call('PUT', `//clients/${otherClient()}/products/1001`, admin)
    const foreign = await service.createCard({}, { as: 'otherClient' })
    const ofOtherProduct = await service.createCard({ cardProduct: 1002 })
    await restrict(second, { limits: [{ period: 'month', maximumCount: 7 }] })
    await record(first.publicToken, requester.clientId, 1_200, instant('10T00:00:00'))
    await record(second.publicToken, requester.clientId, 1_300, instant('10T00:00:00'))
    await record(foreign.publicToken, otherClient(), 650, instant('09T00:00:00'))
    await record(ofOtherProduct.publicToken, requester.clientId, 40, instant('09T00:00:00'))
    const result = await backTestProduct(
      service,
      theProduct,
      { ...march, controls: dayLimit },
      lasting,
    )
    assert.deepEqual(result.recorded.approved, { count: 3_150, amount: 315_000 })
    assert.deepEqual(result.draft.approved, { count: 1_207, amount: 120_700 })
    assert.deepEqual(
      result.controls.map(({ control, owner, declined }) => [owner, control, declined.count]),
      [
        ['card', 'limits.month', 1_293],
        ['product', 'limits.day', 650],
      ],
    )
    const { changes } = result
    assert.deepEqual(
      changes.slice(0, 51).map(({ publicToken }) => publicToken),
      [...Array.from({ length: 50 }, () => foreign.publicToken), second.publicToken],
    )
    assert.equal(changes.length, 100)
  })

  test('unanswered requests are not counted', async () => {
    const { publicToken } = await issueCard(service)
    await record(publicToken, requester.clientId, 3, instant('10T00:00:00'))
    await sql(
      service.database,
      `update authorization_request set response_code = null
       where public_token = $1 and authorization_id = (
         select max(authorization_id::text)::uuid from authorization_request
         where public_token = $1
       )`,
      [publicToken],
    )
    const tested = { ...march, controls: {} }
    const result = await backTestCard(service, requester, publicToken, tested, lasting)
    assert.equal(result.recorded.approved.count, 2)
  })

  test('a period with too much is refused, and so is one that ends before it begins', async () => {
    await sql(service.database, 'delete from authorization_request')
    const cards = [await issueCard(service), await issueCard(service)] as const
    for (const { publicToken } of cards) {
      await record(publicToken, requester.clientId, 1_200, instant('10T00:00:00'))
    }
    const fault = (pointer: string, detail: string) => ({
      code: 'validation_failed',
      errors: [{ pointer, detail }],
    })
    const tested = { ...march, controls: dayLimit }
    const test = (bounds: object, period = {}) =>
      backTestProduct(service, theProduct, { ...tested, ...period }, { ...lasting, ...bounds })
    const read = await test({ authorizationsMost: 2_400, cardsMost: 2 })
    assert.equal(read.recorded.approved.count, 2_400)
    await assert.rejects(
      test({ authorizationsMost: 2_399 }),
      fault('/from', 'begins a period with more than 2,399 authorizations'),
    )
    await assert.rejects(
      test({ cardsMost: 1 }),
      fault('/from', 'begins a period with more than 1 cards'),
    )
    await assert.rejects(test({}, { to: march.from }), fault('/to', 'must be after from'))
    const [{ publicToken }] = cards
    await assert.rejects(
      backTestCard(service, requester, publicToken, tested, { ...lasting, authorizationsMost: 9 }),
      fault('/from', 'begins a period with more than 9 authorizations'),
    )
  })

  test('the cash of a converted amount is its exact part, as when it was authorized', async () => {
    const card = await issueCard(service)
    const cash = { transactionType: 'cashback', amount: 32_205_012, cashbackAmount: 16_102_506 }
    const billing = { billingAmount: 5_468_680_492, billingCurrency: 'EUR' }
    const request = { publicToken: card.publicToken, ...cash, currency: 'USD', ...billing }
    assert.equal((await ask(service, request)).json.responseCode, '00')
    const countDeclined = async (maximumAmount: number) => {
      const limits = [{ period: 'transaction', channel: 'cashback', maximumAmount }] as const
      const tested = { ...hour(), controls: { limits } }
      const result = await backTestCard(service, requester, card.publicToken, tested, lasting)
      return result.newlyDeclined.count
    }
    assert.equal(await countDeclined(2_734_340_246), 0)
    assert.equal(await countDeclined(2_734_340_245), 1)
  })

  test('one back-test runs at a time, and ends when its caller has gone', async () => {
    const { publicToken } = await issueCard(service)
    await record(publicToken, requester.clientId, 2_500, instant('10T00:00:00'))
    const tested = { ...march, controls: dayLimit }
    const caller = new AbortController()
    const test = (gone: AbortSignal, database: Database = service.database) =>
      backTestCard({ database }, requester, publicToken, tested, { gone })
    // A database whose pages of authorizations wait.
    const slow = holdStatement(service.database, 'list_decided_of_card')
    const first = test(caller.signal, slow.database)
    await slow.reached
    await assert.rejects(test(lasting.gone), { code: 'unavailable' })
    slow.release()
    caller.abort(new Error('The caller has gone.'))
    await assert.rejects(first, { message: 'The caller has gone.' })
    assert.equal((await test(lasting.gone)).recorded.approved.count, 2_500)
  })
})
