import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import {
  cvvTry,
  type IssuedCard,
  issueCard,
  otherDigits,
  pinTry,
} from '../../../support/network.ts'
import type { TestService } from '../../../support/service.ts'
import { onEachEngine } from '../../authorizations/engines.ts'
import {
  buy,
  type Deciding,
  heldAnswer,
  issueRestricted,
  letClientDecide,
  outcomesOf,
  purchaseOf,
  readNewest,
  spendingOf,
} from '../deciding.ts'

onEachEngine((engine) => {
  let service: TestService
  let deciding: Deciding
  before(async () => {
    service = await engine.openOne()
    deciding = await letClientDecide(service)
  })

  const withoutToken = (members: object) => {
    const { publicToken: _, ...others } = { publicToken: null, ...members }
    return others
  }
  const merchant = { id: 'BAKERY', country: 'ESP', categoryCode: '5462' }
  const setStatus = (card: IssuedCard, cardStatusCode: string) =>
    service.call('PUT', `/cards/${card.publicToken}/status`, { body: { cardStatusCode } })

  const declines: Readonly<
    Record<string, { controls?: object; frozen?: true; request: (card: IssuedCard) => object }>
  > = {
    'a frozen card': { frozen: true, request: () => ({}) },
    'a wrong expiry date': { request: () => ({ expiryDate: '2031-01' }) },
    'another currency': { request: () => ({ currency: 'USD' }) },
    'a balance inquiry': { request: () => ({ transactionType: 'inquiry' }) },
    'a blocked merchant': {
      controls: { merchants: { blocked: ['BAKERY'] } },
      request: () => ({ merchant }),
    },
    'a wrong PIN': {
      request: (card) => withoutToken(pinTry(service, card, otherDigits(card.pin))),
    },
    'a wrong CVV2': { request: (card) => withoutToken(cvvTry(card, otherDigits(card.cvv2))) },
    'a limit of one transaction': {
      controls: { limits: [{ period: 'transaction', maximumAmount: 999 }] },
      request: () => ({}),
    },
    'a limit of a day': {
      controls: { limits: [{ period: 'day', maximumAmount: 999 }] },
      request: () => ({}),
    },
  }
  for (const [title, { controls, frozen, request }] of Object.entries(declines)) {
    test(`${title} declines without a request to the client, and its event follows`, async () => {
      const card = controls ? await issueRestricted(service, controls) : await issueCard(service)
      if (frozen) await setStatus(card, '62')
      const before = deciding.asked.length
      const { json } = await buy(service, card, { ...purchaseOf(1_000), ...request(card) })
      assert.equal(json.approved, false)
      assert.equal(deciding.asked.length, before)
      const [outcome, ...others] = await outcomesOf(service, card)
      assert.equal(outcome?.type, 'authorization.declined')
      assert.equal(outcome?.details.decisionId, undefined)
      assert.deepEqual(others, [])
    })
  }

  const approvals: Readonly<Record<string, (card: IssuedCard) => object>> = {
    'a purchase without a PIN': () => ({}),
    'a purchase with a PIN': (card) => withoutToken(pinTry(service, card)),
    'a purchase with a CVV2': (card) => withoutToken(cvvTry(card)),
    'a purchase with both': (card) => ({ ...withoutToken(pinTry(service, card)), cvv2: card.cvv2 }),
    'an account check': () => ({ amount: 0 }),
    'a refund': () => ({ transactionType: 'refund' }),
    'a withdrawal': () => ({ transactionType: 'cash' }),
  }
  for (const [title, request] of Object.entries(approvals)) {
    test(`the client is asked about ${title} after all checks, with what is reserved`, async () => {
      const limits = [{ period: 'day', maximumAmount: 5_000 }]
      const card = await issueRestricted(service, { limits })
      const before = deciding.asked.length
      let reserved: unknown
      deciding.answerBy(async () => {
        reserved = await spendingOf(service, card)
        return { decision: 'approve' }
      })
      const { json } = await buy(service, card, { ...purchaseOf(1_000), ...request(card) })
      assert.equal(json.responseCode, '00')
      const { body } = deciding.asked[before] ?? assert.fail('The client was not asked.')
      const { checks } = await readNewest(service, card)
      assert.equal(checks.at(-1).check, 'decision')
      assert.deepEqual(
        body.checks,
        checks.slice(0, -1).map(({ check, result }: { check: string; result: string }) => ({
          check,
          result,
        })),
      )
      const { amount, count } = await spendingOf(service, card)
      assert.deepEqual(reserved, { amount, count, lock: null })
      assert.equal(body.card.lastFour, card.pan.slice(-4))
      assert.doesNotMatch(JSON.stringify(body), new RegExp(card.pan))
    })
  }

  test('the client is asked with the metadata that its card has now, and a repeat has the same', async () => {
    const card = await issueCard(service, { metadata: { costCentre: '4711' } })
    const change = { metadata: { costCentre: '4712', tier: 'gold' } }
    const path = `/cards/${card.publicToken}`
    assert.equal((await service.call('PATCH', path, { body: change })).status, 204)
    const before = deciding.asked.length
    deciding.answerBy(() => ({ decision: 'approve' }))
    assert.equal((await buy(service, card, purchaseOf(500))).json.responseCode, '00')
    const { body } = deciding.asked[before] ?? assert.fail('The client was not asked.')
    assert.deepEqual(body.card.metadata, change.metadata)
    const removed = { metadata: { costCentre: null, tier: null } }
    assert.equal((await service.call('PATCH', path, { body: removed })).status, 204)
    const recorded = await service.call('GET', `/decisions/${body.decisionId}`)
    assert.deepEqual(recorded.json.request.card.metadata, change.metadata)
    assert.equal((await buy(service, card, purchaseOf(500))).json.responseCode, '00')
    const { body: next } = deciding.asked[before + 1] ?? assert.fail('The client was not asked.')
    assert.equal(next.card.metadata, undefined)
  })

  test('an increment is asked about with the payment that it raises', async () => {
    const card = await issueCard(service)
    deciding.answerBy(() => ({ decision: 'approve' }))
    const first = (await buy(service, card, purchaseOf(1_000))).json
    const before = deciding.asked.length
    const raise = { ...purchaseOf(500), paymentId: first.paymentId }
    const raised = (await buy(service, card, raise)).json
    assert.deepEqual([raised.responseCode, raised.paymentId], ['00', first.paymentId])
    const { body } = deciding.asked[before] ?? assert.fail('The client was not asked.')
    assert.deepEqual([body.step, body.paymentId], ['increment', first.paymentId])
    const path = `/payments/${first.paymentId}`
    assert.equal((await service.call('GET', path)).json.approved, 1_500)
  })

  test('a yes is never undone by a limit: another authorization sees what is reserved', async () => {
    const card = await issueRestricted(service, {
      limits: [{ period: 'day', maximumAmount: 1_000 }],
    })
    const before = deciding.asked.length
    const held = heldAnswer()
    deciding.answerBy(held.behaviour)
    const first = buy(service, card, purchaseOf(700))
    await deciding.askedAfter(before)
    const second = await buy(service, card, purchaseOf(700))
    assert.equal(second.json.responseCode, '61')
    held.release()
    assert.equal((await first).json.responseCode, '00')
    assert.equal(deciding.asked.length, before + 1)
    assert.equal((await spendingOf(service, card)).amount, 700)
  })

  test('a card that is frozen while its client thinks is answered as the client decides', async () => {
    const card = await issueCard(service)
    const before = deciding.asked.length
    const held = heldAnswer()
    deciding.answerBy(held.behaviour)
    const bought = buy(service, card, purchaseOf(700))
    await deciding.askedAfter(before)
    assert.ok((await setStatus(card, '62')).status < 300)
    held.release()
    assert.equal((await bought).json.responseCode, '00')
  })
})
