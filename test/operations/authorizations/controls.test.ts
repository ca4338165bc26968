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
import { sql, type TestService } from '../../support/service.ts'
import { onEachEngine } from './engines.ts'
import { eventsOf } from './tried.ts'

const bakery = { id: 'BAKERY', country: 'ESP', categoryCode: '5462' }
const sumsOf = (window: { readonly amount: number; readonly count: number } | undefined) => ({
  amount: window?.amount,
  count: window?.count,
})
const pay = (amount: number, merchant: object = bakery) => ({ amount, currency: 'EUR', merchant })

onEachEngine((engine) => {
  let service: TestService
  let second: TestService
  before(async () => {
    const { services } = await engine.open()
    service = services[0]
    second = services[1]
  })

  const restrict = async (
    { publicToken }: Pick<IssuedCard, 'publicToken'>,
    controls: object,
    version = 0,
  ) => {
    const body = { version, ...controls }
    const answer = await service.call('PUT', `/cards/${publicToken}/controls`, { body })
    assert.deepEqual([answer.status, answer.json], [200, { version: version + 1 }])
  }
  const restricted = async (controls: object) => {
    const card = await issueCard(service)
    await restrict(card, controls)
    return card
  }
  const codeOf = async (request: object, options = {}) =>
    (await ask(service, request, options)).json.responseCode
  const readNewest = async ({ publicToken }: IssuedCard) =>
    (await service.call('GET', `/cards/${publicToken}/authorizations?limit=1`)).json[0]
  const windowsOf = async ({ publicToken }: IssuedCard) => {
    const [row] = await sql<{ windows: Record<string, { amount: number; count: number }> }>(
      service.database,
      'select windows from card_spending where public_token = $1',
      [publicToken],
    )
    return row?.windows ?? {}
  }

  test('a blocked merchant is declined before the PIN: it costs no try, and learns nothing', async () => {
    const card = await restricted({ merchants: { blocked: ['BAKERY'] } })
    const wrong = pinTry(service, card, otherDigits(card.pin))
    const { json } = await ask(service, { ...wrong, ...pay(100) })
    assert.equal(json.responseCode, '03')
    assert.deepEqual(json.pin, { result: 'not_checked', remainingTries: 3 })
    const newest = await readNewest(card)
    assert.deepEqual(
      newest.checks.map(({ check, result }: { check: string; result: string }) => [check, result]),
      [
        ['card', 'passed'],
        ['status', 'passed'],
        ['expiry', 'not_given'],
        ['controls', 'failed'],
      ],
    )
    const { control, declinedBy, declineReason } = newest
    const expected = {
      control: 'merchants',
      declinedBy: 'card_control',
      declineReason: 'merchant_not_allowed',
    }
    assert.deepEqual({ control, declinedBy, declineReason }, expected)
    const event = (await eventsOf(service.database, card.publicToken)).at(-1)
    const {
      declinedBy: by,
      declineReason: reason,
      control: name,
    } = JSON.parse(event?.details ?? '')
    assert.deepEqual({ control: name, declinedBy: by, declineReason: reason }, expected)
    assert.equal(await codeOf({ ...pinTry(service, card), ...pay(100, { id: 'HOTEL' }) }), '00')
  })

  test('a wrong PIN or CVV2 reserves nothing', async () => {
    const card = await restricted({ limits: [{ period: 'day', maximumAmount: 1_000 }] })
    const wrongPin = pinTry(service, card, otherDigits(card.pin))
    assert.equal(await codeOf({ ...wrongPin, ...pay(600) }), '55')
    const wrongCvv = { ...pinTry(service, card), cvv2: otherDigits(card.cvv2) }
    assert.equal(await codeOf({ ...wrongCvv, ...pay(600) }), 'N7')
    assert.deepEqual(await windowsOf(card), {})
    const right = { ...pinTry(service, card), cvv2: card.cvv2 }
    assert.equal(await codeOf({ ...right, ...pay(600) }), '00')
    assert.equal((await windowsOf(card)).day?.amount, 600)
  })

  const requests: Record<string, (card: IssuedCard) => object> = {
    'without a try': ({ publicToken }) => ({ publicToken }),
    'with a PIN': (card) => pinTry(service, card),
    'with a CVV2': (card) => cvvTry(card),
  }
  for (const [title, request] of Object.entries(requests)) {
    test(`an authorization ${title} over a limit is declined, and a repeat gets the same`, async () => {
      const card = await restricted({
        limits: [{ period: 'month', maximumAmount: 1_000, maximumCount: 3 }],
      })
      assert.equal(await codeOf({ ...request(card), ...pay(700) }), '00')
      const headers = { 'idempotency-key': randomUUID() }
      const over = { ...request(card), ...pay(301), reference: 'OVER' }
      const refused = await ask(service, over, { headers })
      assert.deepEqual([refused.json.approved, refused.json.responseCode], [false, '61'])
      const repeat = await ask(service, over, { headers })
      assert.deepEqual(repeat.json, refused.json)
      assert.equal(repeat.headers['idempotency-replayed'], 'true')
      const newest = await readNewest(card)
      assert.equal(newest.declineReason, 'amount_over_limit')
      assert.equal(newest.control, 'limits.month')
      assert.equal(newest.checks.at(-1).owner, 'card')
      const event = (await eventsOf(service.database, card.publicToken)).at(-1)
      assert.equal(event?.type, 'authorization.declined')
      const details = JSON.parse(event?.details ?? '')
      assert.deepEqual(
        [details.responseCode, details.declineReason, details.control],
        ['61', 'amount_over_limit', 'limits.month'],
      )
      assert.equal(await codeOf({ ...request(card), ...pay(300) }), '00')
      assert.equal(await codeOf({ ...request(card), ...pay(0) }), '00')
      const { amount, count } = (await windowsOf(card)).month ?? {}
      assert.deepEqual([amount, count], [1_000, 2])
    })
  }

  test('all limits that a transaction meets are reserved, or none', async () => {
    const card = await restricted({
      limits: [
        { period: 'day', maximumAmount: 5_000 },
        { period: 'day', channel: 'cash', maximumAmount: 1_000 },
        { period: 'lifetime', maximumCount: 2 },
      ],
    })
    const cash = { publicToken: card.publicToken, transactionType: 'cash' }
    assert.equal(await codeOf({ ...cash, ...pay(1_001) }), '61')
    assert.deepEqual(await windowsOf(card), {})
    assert.equal(await codeOf({ ...cash, ...pay(1_000) }), '00')
    assert.equal(await codeOf({ publicToken: card.publicToken, ...pay(1_000) }), '00')
    assert.equal(await codeOf({ publicToken: card.publicToken, ...pay(1) }), '65')
    const sums = Object.entries(await windowsOf(card)).map(([name, { amount, count }]) => [
      name,
      amount,
      count,
    ])
    assert.deepEqual(sums.toSorted(), [
      ['day', 2_000, 2],
      ['day.cash', 1_000, 1],
      ['lifetime', 2_000, 2],
    ])
  })

  test('limits of a product and of its card share a window, and both hold', async () => {
    const card = await restricted({ limits: [{ period: 'day', maximumAmount: 500 }] })
    const path = '//products/1001/controls'
    const admin = { as: 'admin', listener: 'private' } as const
    const before = (await service.call('GET', path, admin)).json
    const body = {
      version: before.version,
      limits: [{ period: 'day', maximumAmount: 300 }],
    }
    const changed = await service.call('PUT', path, { ...admin, body })
    assert.deepEqual(changed.json, { version: before.version + 1 })
    assert.equal(await codeOf({ publicToken: card.publicToken, ...pay(301) }), '61')
    assert.equal((await readNewest(card)).declinedBy, 'product_control')
    assert.equal(await codeOf({ publicToken: card.publicToken, ...pay(300) }), '00')
    await restrict(card, { limits: [{ period: 'day', maximumAmount: 200 }] }, 1)
    const [versions] = await sql(
      service.database,
      `select product_controls_version as product, card_controls_version as card
       from authorization_request where public_token = $1 order by authorization_id desc limit 1`,
      [card.publicToken],
    )
    assert.deepEqual(versions, { product: before.version + 1, card: 1 })
    const undo = { version: before.version + 1 }
    assert.equal((await service.call('PUT', path, { ...admin, body: undo })).status, 200)
    assert.equal(await codeOf({ publicToken: card.publicToken, ...pay(1) }), '61')
  })

  test('a card for one use is used once', async () => {
    const card = await restricted({ singleUse: true })
    assert.equal(await codeOf({ publicToken: card.publicToken, ...pay(0) }), '00')
    assert.equal(await codeOf({ publicToken: card.publicToken, ...pay(5) }), '00')
    assert.equal(await codeOf({ publicToken: card.publicToken, ...pay(5) }), '65')
    assert.equal((await readNewest(card)).control, 'singleUse')
  })

  test('a card that is locked to its first merchant is declined at another, before the PIN', async () => {
    const card = await restricted({ merchantLock: true })
    assert.equal(await codeOf({ publicToken: card.publicToken, amount: 5, currency: 'EUR' }), '03')
    const race = await Promise.all(
      ['A', 'B', 'C', 'D'].map((id) =>
        codeOf({ publicToken: card.publicToken, ...pay(5, { id }) }),
      ),
    )
    assert.deepEqual(race.toSorted(), ['00', '03', '03', '03'])
    const first = ['A', 'B', 'C', 'D'][race.indexOf('00')]
    assert.equal(await codeOf({ ...pinTry(service, card), ...pay(5, { id: first }) }), '00')
    const wrong = pinTry(service, card, otherDigits(card.pin))
    assert.equal(await codeOf({ ...wrong, ...pay(5) }), '03')
    assert.equal((await readNewest(card)).control, 'merchantLock')
  })

  test('shadow controls are recorded, and decide nothing', async () => {
    const card = await restricted({
      shadow: { channels: { blocked: ['chip'] }, limits: [{ period: 'day', maximumAmount: 10 }] },
    })
    assert.equal(await codeOf({ ...pinTry(service, card), ...pay(11) }), '00')
    const { checks, approved } = await readNewest(card)
    assert.ok(approved)
    const shadows = checks.filter(({ check }: { check: string }) => check === 'shadow')
    assert.deepEqual(
      shadows.map(({ control, owner }: { control: string; owner: string }) => [control, owner]),
      [
        ['channels', 'card'],
        ['limits.day', 'card'],
      ],
    )
    assert.equal(checks.at(-1).result, 'passed')
  })

  test('a shadow limit of one transaction is recorded, and decides nothing', async () => {
    const card = await restricted({
      shadow: { limits: [{ period: 'transaction', maximumAmount: 10 }] },
    })
    const requests = [
      { publicToken: card.publicToken, ...pay(11) },
      { ...pinTry(service, card), ...pay(11) },
      { publicToken: card.publicToken },
    ]
    for (const request of requests) {
      assert.equal(await codeOf(request), '00')
      const { checks } = await readNewest(card)
      const [shadow, last] = checks.slice(-2)
      assert.deepEqual([shadow.check, shadow.result], ['shadow', 'failed'])
      assert.deepEqual([shadow.control, shadow.owner], ['limits.transaction', 'card'])
      assert.deepEqual([last.check, last.result], ['limits', 'passed'])
    }
    assert.equal(await codeOf({ publicToken: card.publicToken, ...pay(10) }), '00')
    const { checks } = await readNewest(card)
    assert.ok(checks.every(({ check }: { check: string }) => check !== 'shadow'))
  })

  test('a shadow limit of one transaction precedes the real limit that declines', async () => {
    const shadow = { limits: [{ period: 'transaction', maximumAmount: 10 }] }
    const card = await restricted({ shadow, limits: [{ period: 'day', maximumAmount: 20 }] })
    assert.equal(await codeOf({ publicToken: card.publicToken, ...pay(21) }), '61')
    const { checks } = await readNewest(card)
    assert.deepEqual(
      checks.slice(-2).map(({ check, control }: Record<string, string>) => [check, control]),
      [
        ['shadow', 'limits.transaction'],
        ['limits', 'limits.day'],
      ],
    )
  })

  test('money that a card receives is not controlled', async () => {
    const card = await restricted({
      merchants: { allowed: [] },
      limits: [{ period: 'day', maximumCount: 0 }],
    })
    for (const transactionType of ['refund', 'credit']) {
      assert.equal(
        await codeOf({ publicToken: card.publicToken, transactionType, ...pay(9) }),
        '00',
      )
    }
  })

  test('a thousand amounts that race against the limits of ten cards never exceed them', async () => {
    const limits = [
      { period: 'day', maximumAmount: 4_000, maximumCount: 100 },
      { period: 'month', maximumAmount: 3_000 },
    ]
    const cards = await Promise.all(Array.from({ length: 10 }, () => restricted({ limits })))
    const asked = Array.from({ length: 1_000 }, (_, index) => ({
      card: cards[index % 10] as IssuedCard,
      target: index % 3 === 0 ? second : service,
      amount: 20 + (index % 7) * 10,
      hasPin: index % 20 < 10,
      networkTransactionId: `RACE${index}X${randomUUID().slice(0, 6)}`,
    }))
    const answers = await Promise.all(
      asked.map(async ({ amount, card, hasPin, networkTransactionId, target }) => {
        const request = hasPin ? pinTry(service, card) : { publicToken: card.publicToken }
        const transaction = { ...pay(amount), networkTransactionId }
        const { json } = await ask(target, { ...request, ...transaction })
        return { card, amount, code: json.responseCode as string, networkTransactionId }
      }),
    )
    // Three PINs of a card are tried at a time.
    assert.ok(answers.every(({ code }) => ['00', '61', '75'].includes(code)))
    for (const card of cards) {
      const approved = answers.filter((each) => each.card === card && each.code === '00')
      const sum = approved.reduce((total, { amount }) => total + amount, 0)
      assert.ok(sum <= 3_000 && sum > 2_900, String(sum))
      const { day, month } = await windowsOf(card)
      const expected = { amount: sum, count: approved.length }
      assert.deepEqual([sumsOf(day), sumsOf(month)], [expected, expected])
      const left = { publicToken: card.publicToken, ...pay(3_000 - sum) }
      assert.equal(await codeOf({ ...left, amount: 3_001 - sum }), '61')
      const reversals = approved.slice(0, 10).map(({ networkTransactionId }) =>
        service.call('POST', '//network/reversals', {
          as: 'network',
          listener: 'private',
          body: {
            reversalId: randomUUID(),
            publicToken: card.publicToken,
            networkTransactionId,
            amount: 7,
            currency: 'EUR',
          },
        }),
      )
      for (const { status } of await Promise.all(reversals)) assert.equal(status, 200)
      const after = { amount: sum - 70, count: approved.length }
      assert.deepEqual(sumsOf((await windowsOf(card)).month), after)
    }
  })

  test('a reversal returns what its payment took; the count when nothing is left', async () => {
    const card = await restricted({
      limits: [{ period: 'month', maximumAmount: 1_000, maximumCount: 1 }],
    })
    const { publicToken } = card
    const networkTransactionId = randomUUID().replaceAll('-', '').slice(0, 15)
    const paid = { publicToken, networkTransactionId, ...pay(1_000) }
    assert.equal(await codeOf(paid), '00')
    const reverse = async (amount: number) => {
      const body = {
        reversalId: randomUUID(),
        publicToken,
        networkTransactionId,
        amount,
        currency: 'EUR',
      }
      const options = { as: 'network', listener: 'private', body } as const
      const { json, status } = await service.call('POST', '//network/reversals', options)
      assert.equal(status, 200, JSON.stringify(json))
      const { amount: left, count } = (await windowsOf(card)).month ?? {}
      return [left, count]
    }
    assert.deepEqual(await reverse(400), [600, 1])
    assert.equal(await codeOf({ publicToken, ...pay(400) }), '65')
    assert.deepEqual(await reverse(10_000), [0, 0])
    assert.equal(await codeOf({ publicToken, ...pay(1_000) }), '00')
  })

  test('a refused approval opens no payment, and its event tells the checks', async () => {
    const card = await restricted({ limits: [{ period: 'day', maximumAmount: 10 }] })
    await ask(service, { publicToken: card.publicToken, ...pay(11) })
    const event = (await eventsOf(service.database, card.publicToken)).at(-1)
    const details = JSON.parse(event?.details ?? '')
    assert.equal(details.paymentId, undefined)
    assert.deepEqual(details.checks.at(-1), { check: 'limits', result: 'failed' })
    const payments = await sql(service.database, 'select from payment where public_token = $1', [
      card.publicToken,
    ])
    assert.equal(payments.length, 0)
  })

  test('what is given back returns to its own window, once, and never more than was taken', async () => {
    const card = await restricted({
      limits: [{ period: 'day', maximumAmount: 1_000, maximumCount: 2 }],
    })
    assert.equal(await codeOf({ publicToken: card.publicToken, ...pay(400) }), '00')
    assert.equal(await codeOf({ publicToken: card.publicToken, ...pay(600) }), '00')
    const { authorizationId } = await readNewest(card)
    const release = async (amount: number, id = authorizationId) => {
      const [row] = await sql<{ moved: string | null }>(
        service.database,
        'select move_spending($1, $2::uuid, $3::bigint)::text as moved',
        [card.publicToken, id, -amount],
      )
      return row?.moved ?? null
    }
    const sums = async () => {
      const { amount, count } = (await windowsOf(card)).day ?? {}
      return [amount, count]
    }
    assert.equal(await release(250), '-250')
    assert.deepEqual(await sums(), [750, 2])
    assert.equal(await release(1_000), '-350')
    assert.deepEqual(await sums(), [400, 1])
    assert.equal(await release(1), null)
    assert.deepEqual(await sums(), [400, 1])
    assert.equal(await codeOf({ publicToken: card.publicToken, ...pay(600) }), '00')
    const third = (await readNewest(card)).authorizationId
    await sql(
      service.database,
      `update card_spending
       set windows = jsonb_set(windows, '{day}', '{"startsOn":"9999-01-01","amount":7,"count":1}')
       where public_token = $1`,
      [card.publicToken],
    )
    assert.equal(await release(600, third), '-600')
    assert.deepEqual(await sums(), [7, 1])
  })
})
