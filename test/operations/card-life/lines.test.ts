import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { product } from '../../support/builders.ts'
import {
  ask,
  type IssuedCard,
  issueCard,
  otherDigits,
  pinTry,
  recoverCard,
} from '../../support/network.ts'
import { sql, type TestService } from '../../support/service.ts'
import { onEachEngine } from '../authorizations/engines.ts'

/** What belongs to the line of cards that replaced each other, and races within it. */
onEachEngine((engine) => {
  let service: TestService
  let second: TestService

  before(async () => {
    const { services } = await engine.open()
    service = services[0]
    second = services[1]
    await product(service.database, { productId: 2200, bin: '40000222' })
  })

  const physicalCard = (): Promise<IssuedCard> =>
    issueCard(service, { cardProduct: 2200, cardType: 'Physical', activateNow: true })

  const replace = (publicToken: string, body: object = {}, at = service) =>
    at.call('POST', `/cards/${publicToken}/replace`, { body })

  const setStatus = (publicToken: string, cardStatusCode: string, at = service) =>
    at.call('PUT', `/cards/${publicToken}/status`, { body: { cardStatusCode } })

  const statusOf = async (publicToken: string): Promise<string> =>
    (await service.call('GET', `/cards/${publicToken}/status`)).json.cardStatusCode

  /** Replaces a card, and activates its successor. */
  const renumber = async (card: IssuedCard): Promise<IssuedCard> => {
    const { json } = await replace(card.publicToken)
    assert.equal((await setStatus(json.publicToken, '00')).status, 204)
    return recoverCard(service, json.publicToken)
  }

  const pay = async (card: IssuedCard, amount: number, networkTransactionId: string) => {
    const bakery = { id: 'BAKERY', country: 'ESP', categoryCode: '5462' }
    const money = { amount, currency: 'EUR', merchant: bakery, networkTransactionId }
    return (await ask(service, { pan: card.pan, ...money })).json.responseCode
  }

  const reverse = async (card: IssuedCard, networkTransactionId: string, amount: number) => {
    const reversal = { reversalId: randomUUID(), networkTransactionId, amount, currency: 'EUR' }
    const options = { as: 'network', listener: 'private' } as const
    return service.call('POST', '//network/reversals', {
      ...options,
      body: { ...reversal, pan: card.pan },
    })
  }

  const transactionId = () => randomUUID().replaceAll('-', '').slice(0, 15)

  test('a replacement resets no limit: the cards of a line share what they have spent', async () => {
    const card = await physicalCard()
    const limits = [{ period: 'month', maximumAmount: 1_000 }]
    const put = { body: { version: 0, limits } }
    assert.equal(
      (await service.call('PUT', `/cards/${card.publicToken}/controls`, put)).status,
      200,
    )
    const first = transactionId()
    assert.equal(await pay(card, 800, first), '00')
    const successor = await renumber(card)
    assert.equal(await pay(successor, 300, transactionId()), '61')
    assert.equal(await pay(successor, 200, transactionId()), '00')
    const third = await renumber(successor)
    assert.equal(await pay(third, 1, transactionId()), '61')
    const reversed = await reverse(third, first, 800)
    assert.equal(reversed.status, 200, reversed.text)
    assert.equal(reversed.json.publicToken, card.publicToken)
    assert.equal(await pay(third, 800, transactionId()), '00')
    assert.equal(await pay(third, 1, transactionId()), '61')
    const explain = { body: { entryMode: 'chip', amount: 1, currency: 'EUR' } }
    const path = `/cards/${third.publicToken}/controls/explain`
    assert.equal((await service.call('POST', path, explain)).json.approved, false)
  })

  test('a product in another currency cannot take over what a line has spent', async () => {
    await product(service.database, { productId: 2201, bin: '40000223', currencyCode: 'JPY' })
    const card = await physicalCard()
    const { json, status } = await replace(card.publicToken, { cardProduct: 2201 })
    assert.deepEqual([status, json.errors[0].pointer], [422, '/cardProduct'])
  })

  test('the event of a payment on a replaced card names the current card of its line', async () => {
    const card = await physicalCard()
    const id = transactionId()
    assert.equal(await pay(card, 500, id), '00')
    const successor = await renumber(card)
    for (const named of [card, successor]) {
      assert.equal((await reverse(named, id, 100)).status, 200)
    }
    const events = await sql<{ details: string }>(
      service.database,
      `select details from event where public_token = $1 and type = 'payment.changed'
       order by sequence`,
      [card.publicToken],
    )
    const changes = events.map(({ details }) => JSON.parse(details))
    assert.deepEqual(
      changes.map(({ currentCard, reversed }) => [currentCard, reversed]),
      [
        [successor.publicToken, 100],
        [successor.publicToken, 200],
      ],
    )
  })

  /** Sends clearings that name a card, and returns the result of each. */
  const clear = async (card: IssuedCard, ...records: readonly object[]) => {
    const clearings = records.map((record) => ({ pan: card.pan, currency: 'EUR', ...record }))
    const options = { as: 'network', listener: 'private', body: { clearings } } as const
    const { json, status, text } = await service.call('POST', '//network/clearings', options)
    assert.equal(status, 200, text)
    return json.results
  }

  const sumsOf = (publicToken: string) =>
    sql<{ approved: number; cleared: number; refunded: number }>(
      service.database,
      `select approved::integer, cleared::integer, refunded::integer from payment
       where public_token = $1 order by payment_id`,
      [publicToken],
    )

  const increment = async (card: IssuedCard, amount: number, networkTransactionId: string) => {
    const named = { networkTransactionId, isIncrement: true }
    return (await ask(service, { pan: card.pan, amount, currency: 'EUR', ...named })).json
  }

  test('an increment under the new number raises the payment of the replaced card', async () => {
    const card = await physicalCard()
    const limits = [{ period: 'month', maximumAmount: 1_000 }]
    const path = `/cards/${card.publicToken}/controls`
    await service.call('PUT', path, { body: { version: 0, limits } })
    const id = transactionId()
    assert.equal(await pay(card, 100, id), '00')
    const successor = await renumber(card)
    assert.equal((await increment(successor, 50, id)).responseCode, '00')
    assert.deepEqual(await sumsOf(card.publicToken), [{ approved: 150, cleared: 0, refunded: 0 }])
    assert.deepEqual(await sumsOf(successor.publicToken), [])
    const [newest] = (await service.call('GET', `/cards/${successor.publicToken}/authorizations`))
      .json
    const read = await service.call('GET', `/payments/${newest.paymentId}`)
    assert.equal(read.json.publicToken, card.publicToken)
    const asOperator = { as: 'admin', listener: 'private' } as const
    const shown = `//cards/${successor.publicToken}/payments/${newest.paymentId}`
    assert.equal((await service.call('GET', shown, asOperator)).json.publicToken, card.publicToken)
    assert.equal(await pay(successor, 851, transactionId()), '61')
    assert.equal((await reverse(successor, id, 150)).status, 200)
    assert.equal(await pay(successor, 1_000, transactionId()), '00')
    const events = await sql<{ token: string; type: string; details: string }>(
      service.database,
      `select public_token as token, type, details from event
       where public_token = any ($1) and type = 'payment.changed' order by event_id`,
      [[card.publicToken, successor.publicToken]],
    )
    assert.deepEqual(
      events.map(({ details, token }) => [token, JSON.parse(details).currentCard]),
      [
        [card.publicToken, successor.publicToken],
        [card.publicToken, successor.publicToken],
      ],
    )
  })

  test('a repeat of a clearing or refund moves nothing, whichever card of the line it names', async () => {
    const card = await physicalCard()
    const id = transactionId()
    assert.equal(await pay(card, 100, id), '00')
    const successor = await renumber(card)
    const clearing = { clearingId: randomUUID(), networkTransactionId: id, amount: 40 }
    const [first] = await clear(successor, { ...clearing, isFinal: false })
    assert.equal((await increment(successor, 50, id)).responseCode, '00')
    const [again] = await clear(successor, { ...clearing, isFinal: false })
    assert.deepEqual(again, first)
    const refund = { clearingId: randomUUID(), amount: 30, isRefund: true }
    const [credited] = await clear(card, refund)
    const [repeated] = await clear(successor, refund)
    assert.deepEqual(repeated, credited)
    const late = { clearingId: randomUUID(), amount: 7, isRefund: true }
    await Promise.all([clear(card, late), clear(successor, late), clear(card, late)])
    assert.deepEqual(await sumsOf(successor.publicToken), [])
    assert.deepEqual(await sumsOf(card.publicToken), [
      { approved: 150, cleared: 40, refunded: 0 },
      { approved: 0, cleared: 0, refunded: 30 },
      { approved: 0, cleared: 0, refunded: 7 },
    ])
  })

  test('of many replacements of a card at once, one is done, and the others name it', async () => {
    const count = Number(process.env.REPLACEMENTS_AT_ONCE ?? 200)
    const card = await physicalCard()
    const answers = await Promise.all(
      Array.from({ length: count }, (_, at) =>
        replace(card.publicToken, {}, at % 2 === 0 ? service : second),
      ),
    )
    const [done, ...others] = answers.filter(({ status }) => status === 200)
    assert.ok(done)
    assert.equal(others.length, 0)
    const refused = answers.filter(({ json }) => json.replacedBy === done.json.publicToken)
    assert.equal(refused.length, count - 1)
    const cards = await sql(service.database, 'select from card where line_token = $1', [
      card.publicToken,
    ])
    const numbers = await sql(
      service.database,
      `select from pan_fingerprint
       where public_token not in (select public_token from card)`,
    )
    assert.deepEqual([cards.length, numbers.length], [2, 0])
  })

  test('two cards that share a PIN never compare more PINs than one has tries', async () => {
    const guesses = Number(process.env.GUESSES ?? 60)
    const card = await physicalCard()
    const { json } = await replace(card.publicToken)
    const successor = await recoverCard(service, json.publicToken)
    const wrong = otherDigits(card.pin)
    const answers = await Promise.all([
      ...Array.from({ length: guesses }, (_, at) =>
        ask(at % 2 === 0 ? service : second, pinTry(service, at % 4 < 2 ? card : successor, wrong)),
      ),
      setStatus(successor.publicToken, '00', second),
    ])
    assert.equal(answers.at(-1)?.status, 204)
    for (const each of [card, successor, card, successor]) {
      await ask(service, pinTry(service, each, wrong))
    }
    const compared = await sql(
      service.database,
      `select from authorization_request
       where public_token = any ($1) and kind = 'pin' and result = 'mismatch'`,
      [[card.publicToken, successor.publicToken]],
    )
    assert.ok(compared.length <= 3, `${compared.length} comparisons`)
    assert.equal(await statusOf(card.publicToken), '62')
  })

  test('whatever is done at once, at most one card of a line is active, and no event is missing', async () => {
    const rounds = Number(process.env.LINE_ROUNDS ?? 12)
    for (let round = 0; round < rounds; round += 1) {
      const card = await physicalCard()
      const first = (await replace(card.publicToken)).json.publicToken
      await Promise.all([
        setStatus(first, '00'),
        setStatus(card.publicToken, '62', second),
        replace(card.publicToken, {}, second),
        replace(first, { reason: 'Lost' }),
        setStatus(card.publicToken, '00', second),
        ask(second, pinTry(service, card)),
      ])
      const rows = await sql<{ status: string; generation: number; gaps: number }>(
        service.database,
        `select status_code as "status", generation, last_sequence - (
           select count(*)::integer from event where event.public_token = card.public_token
         ) as "gaps"
         from card where line_token = $1 order by generation`,
        [card.publicToken],
      )
      assert.ok(rows.filter(({ status }) => status === '00').length <= 1, JSON.stringify(rows))
      assert.ok(
        rows.every(({ gaps }) => gaps === 0),
        JSON.stringify(rows),
      )
    }
  })

  test('a change of the record before a replacement is never missing in the new card', async () => {
    const rounds = Number(process.env.LINE_ROUNDS ?? 12)
    const change = { designId: 'blue', customerReference: 'C-2', nameOnCard: 'ANA SOL' }
    let changedFirst = 0
    for (let round = 0; round < rounds; round += 1) {
      const { publicToken } = await physicalCard()
      const [changed, replaced] = await Promise.all([
        service.call('PATCH', `/cards/${publicToken}`, { body: change }),
        replace(publicToken, {}, second),
      ])
      assert.deepEqual([changed.status, replaced.status], [204, 200], replaced.text)
      const events = await sql<{ type: string }>(
        service.database,
        `select type from event where public_token = $1 order by sequence desc limit 2`,
        [publicToken],
      )
      const { json } = await service.call('GET', `/cards/${replaced.json.publicToken}`)
      if (events[0]?.type !== 'card.replaced') continue
      changedFirst += 1
      const { customerReference, designId, embossName } = json
      assert.deepEqual({ designId, customerReference, nameOnCard: embossName }, change)
    }
    assert.ok(changedFirst > 0)
  })
})
