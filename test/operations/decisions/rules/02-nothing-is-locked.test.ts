import assert from 'node:assert/strict'
import { hash, randomBytes, randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Secret } from '../../../../src/domain/secret.ts'
import { toTransaction } from '../../../../src/domain/transaction.ts'
import { authorize } from '../../../../src/operations/authorizations/authorize.ts'
import { createDecisions } from '../../../../src/operations/decisions/decide.ts'
import { formats } from '../../../../src/operations/decisions/formats.ts'
import { createEndpointRegistry } from '../../../../src/operations/decisions/registry.ts'
import { sweepDecisions } from '../../../../src/operations/decisions/sweep.ts'
import { chooseNewPin, type IssuedCard, issueCard, pinTry } from '../../../support/network.ts'
import { sql, type TestService } from '../../../support/service.ts'
import { connectSwitch, openLink, purchase } from '../../../support/switch.ts'
import { until } from '../../../support/until.ts'
import { onEachEngine } from '../../authorizations/engines.ts'
import { readPayment, send } from '../../payments/network.ts'
import {
  buy,
  countWaiting,
  type Deciding,
  heldAnswer,
  issueRestricted,
  letClientDecide,
  outcomesOf,
  passDeadlines,
  purchaseOf,
  readNewest,
  spendingOf,
} from '../deciding.ts'

const limits = [{ period: 'day', maximumAmount: 5_000, maximumCount: 10 }]

onEachEngine((engine) => {
  let service: TestService
  let other: TestService
  let deciding: Deciding
  before(async () => {
    const { services } = await engine.open()
    service = services[0]
    other = services[1]
    deciding = await letClientDecide(service)
  })

  /** Begins a purchase, and resolves when its client thinks. */
  const beginPurchase = async (
    card: Awaited<ReturnType<typeof issueCard>>,
    members: object,
    key: string | null = null,
    answer: object = { decision: 'approve' },
  ) => {
    const before = deciding.asked.length
    const held = heldAnswer(answer)
    deciding.answerBy(held.behaviour)
    const headers: Record<string, string> = key === null ? {} : { 'idempotency-key': key }
    const bought = buy(service, card, members, { headers })
    await deciding.askedAfter(before)
    return { bought, release: held.release, asked: () => deciding.asked.length - before }
  }

  test('everything else can be done with the card while its client thinks', async () => {
    const card = await issueRestricted(service, { limits })
    const { bought, release } = await beginPurchase(card, purchaseOf(1_000))
    let isBought = false
    bought.then(() => {
      isBought = true
    })
    const { publicToken } = card
    const set = await service.call('POST', `/card-pin/${publicToken}/pin`, {
      body: { pin: chooseNewPin(card) },
    })
    assert.equal(set.status, 204)
    const body = { version: 1, limits: [{ period: 'day', maximumAmount: 4_000 }] }
    const changed = await service.call('PUT', `/cards/${publicToken}/controls`, { body })
    assert.ok(changed.status < 300, changed.text)
    deciding.answerBy(() => ({ decision: 'approve' }))
    assert.equal((await buy(service, card, purchaseOf(500))).json.responseCode, '00')
    assert.ok(!isBought, 'The client still thinks.')
    release()
    assert.equal((await bought).json.responseCode, '00')
    assert.equal((await spendingOf(service, card)).amount, 1_500)
  })

  for (const [title, answer, left] of [
    ['a decline gives the limits everything back', { decision: 'decline' }, [0, 0]],
    ['a challenge gives the limits everything back', { decision: 'challenge' }, [0, 0]],
    ['an approval of a part gives back the rest', { decision: 'approve', amount: 300 }, [300, 1]],
  ] as const) {
    test(title, async () => {
      const card = await issueRestricted(service, { limits })
      const partial = purchaseOf(1_000, { partialAllowed: true })
      const { bought, release } = await beginPurchase(card, partial, null, answer)
      const { amount, count } = await spendingOf(service, card)
      assert.deepEqual([amount, count], [1_000, 1])
      release()
      const { json } = await bought
      const after = await spendingOf(service, card)
      assert.deepEqual([after.amount, after.count], left)
      if (!json.approved) return assert.equal(json.paymentId, undefined)
      assert.deepEqual([json.responseCode, json.approvedAmount], ['10', 300])
      assert.equal((await readPayment(service, json.paymentId)).approved, 300)
    })
  }

  test('a decline gives back the count of a purchase without an amount', async () => {
    const card = await issueRestricted(service, { limits: [{ period: 'day', maximumCount: 1 }] })
    const decline = { decision: 'decline' }
    const { bought, release } = await beginPurchase(card, {}, null, decline)
    assert.equal((await spendingOf(service, card)).count, 1)
    release()
    assert.equal((await bought).json.responseCode, '05')
    assert.equal((await spendingOf(service, card)).count, 0)
  })

  test('a decline releases the card from the merchant that it locked it to', async () => {
    const card = await issueRestricted(service, { merchantLock: true })
    const at = (id: string) => purchaseOf(1_000, { merchant: { id } })
    const decline = { decision: 'decline' }
    const first = await beginPurchase(card, at('BAKERY'), null, decline)
    assert.equal((await spendingOf(service, card)).lock, 'BAKERY')
    const second = await beginPurchase(card, at('BAKERY'), null, decline)
    first.release()
    assert.equal((await first.bought).json.responseCode, '05')
    assert.equal((await spendingOf(service, card)).lock, 'BAKERY')
    second.release()
    assert.equal((await second.bought).json.responseCode, '05')
    assert.equal((await spendingOf(service, card)).lock, null)
    deciding.answerBy(() => ({ decision: 'approve' }))
    assert.equal((await buy(service, card, at('HOTEL'))).json.responseCode, '00')
    assert.equal((await spendingOf(service, card)).lock, 'HOTEL')
  })

  test('a repeat waits for the decision and gets its answer, in another process, too', async () => {
    const card = await issueCard(service)
    const key = randomUUID()
    const { publicToken: _, ...members } = {
      publicToken: null,
      ...purchaseOf(1_000),
      ...pinTry(service, card),
      reference: 'R-0',
    }
    const { asked, bought, release } = await beginPurchase(card, members, key)
    const headers = { 'idempotency-key': key }
    const repeats = [service, other].map((each) => buy(each, card, members, { headers }))
    await sleep(50)
    release()
    const first = await bought
    assert.equal(first.json.responseCode, '00')
    for (const repeat of await Promise.all(repeats)) {
      assert.deepEqual(repeat.json, first.json)
      assert.equal(repeat.headers['idempotency-replayed'], 'true')
    }
    assert.equal(asked(), 1)
  })

  test('a reversal while the client thinks declines with 94 and gives everything back', async () => {
    const card = await issueRestricted(service, { limits })
    const networkTransactionId = `X${randomBytes(7).toString('hex')}`
    const key = randomUUID()
    const members = purchaseOf(1_000, { networkTransactionId, reference: 'R-0' })
    const { bought, release } = await beginPurchase(card, members, key)
    const { publicToken } = card
    await send(service, 'reversals', { reversalId: key, publicToken, networkTransactionId })
    release()
    const first = await bought
    assert.equal(first.json.responseCode, '94')
    assert.equal((await spendingOf(service, card)).amount, 0)
    const headers = { 'idempotency-key': key }
    assert.deepEqual((await buy(other, card, members, { headers })).json, first.json)
    const [outcome] = await outcomesOf(service, card)
    assert.equal(outcome?.details.declineReason, 'transaction_reversed')
  })

  test('a reversal on a link that names no card does so, too', async () => {
    const wire = await connectSwitch(await openLink(service))
    assert.equal(await wire.signOn(), '00')
    const card = await issueRestricted(service, { limits })
    const before = deciding.asked.length
    const held = heldAnswer()
    deciding.answerBy(held.behaviour)
    const { 52: _1, 53: _2, ...fields } = purchase(service, card)
    const numbers: Record<string, string> = {
      ...fields,
      7: '1128120000',
      11: '004711',
      32: '00000000001',
    }
    const answered = wire.ask('0100', numbers)
    await deciding.askedAfter(before)
    const { 2: _3, ...unnamed } = numbers
    const original = `0100${'004711'}${'1128120000'}${'00000000001'.padStart(11, '0')}${'0'.repeat(11)}`
    const reversed = await wire.ask('0400', { ...unnamed, 11: '004712', 90: original })
    assert.equal(reversed.fields['39'], '00')
    held.release()
    assert.equal((await answered).fields['39'], '94')
    assert.equal((await spendingOf(service, card)).amount, 0)
    wire.close()
  })

  /** What the newest process that was lost sent. */
  let sent = ''
  /** A process that hangs for ever after the reservation, as one that was lost. */
  const loseProcess = (fallback: object = {}) => {
    const registry = createEndpointRegistry(service.database)
    const lost = createDecisions({
      ...service.deciding.concluding,
      registry: {
        async find(clientId, productId) {
          const inForce = await registry.find(clientId, productId)
          const known = inForce?.enforced
          if (!known) return null
          const enforced = {
            ...known,
            timeoutMs: 2_500,
            fallback: { ...known.fallback, ...fallback },
          }
          return { ...inForce, enforced }
        },
      },
      ask(endpoint, request) {
        sent = formats[endpoint.format].compose(request)
        return new Promise(() => undefined)
      },
      isSimulator: () => false,
      shadows: { expect: () => undefined },
    })
    return { ...service.authorizing, decisions: lost }
  }
  const networkId = () => service.sandbox?.network.clientId ?? ''

  /** Begins an authorization whose process is lost while the client thinks. */
  const loseAuthorization = ({ publicToken }: IssuedCard, fallback: object = {}): void => {
    const request = {
      networkId: networkId(),
      requestId: randomUUID(),
      card: { publicToken },
      entryMode: 'ecommerce',
      cardRead: 'none',
      reference: 'R-0',
      transaction: toTransaction({ amount: 700, currency: 'EUR' }),
    } as const
    void authorize(loseProcess(fallback), request, null)
  }

  /** Resolves when so many decisions of a card wait. */
  const untilWaiting = ({ publicToken }: IssuedCard, count: number) =>
    until(async () => (await countWaiting(service.database, publicToken)) === count, 30_000)

  test('21 decisions that cannot be concluded do not keep a later one waiting', async () => {
    const broken = await issueCard(service)
    for (let count = 1; count <= 21; count += 1) {
      loseAuthorization(broken)
      await untilWaiting(broken, count)
    }
    await sql(service.database, `update decision set pending = '{}' where public_token = $1`, [
      broken.publicToken,
    ])
    await passDeadlines(service.database)
    const card = await issueCard(service)
    loseAuthorization(card)
    await untilWaiting(card, 1)
    await passDeadlines(service.database)
    const faults: unknown[] = []
    await sweepDecisions(other.deciding.concluding, (fault) => faults.push(fault))
    assert.equal(faults.length, 21)
    assert.equal((await outcomesOf(service, card)).length, 1)
    await sql(service.database, 'delete from decision where public_token = $1', [
      broken.publicToken,
    ])
  })

  for (const [onTimeout, responseCode] of [
    ['decline', '91'],
    ['approve', '00'],
  ] as const) {
    test(`the sweep concludes what a lost process left: ${onTimeout}`, async () => {
      const card = await issueRestricted(service, { limits })
      loseAuthorization(card, { onTimeout })
      const faults: unknown[] = []
      const sweep = () =>
        sweepDecisions(other.deciding.concluding, (fault) => {
          faults.push(fault)
        })
      await untilWaiting(card, 1)
      await sweep()
      assert.deepEqual(await outcomesOf(service, card), [])
      assert.equal((await spendingOf(service, card)).amount, 700)
      await passDeadlines(service.database)
      await Promise.all([sweep(), sweep()])
      assert.deepEqual(faults, [])
      const [outcome, ...others] = await outcomesOf(service, card)
      assert.deepEqual(others, [])
      assert.equal(outcome?.details.responseCode, responseCode)
      assert.equal(outcome?.details.decidedBy, 'fallback:timeout')
      // The request as it was sent, but for the deadline, which this test moved.
      const [moved] = await sql<{ deadline: Date }>(
        service.database,
        'select deadline from decision where public_token = $1',
        [card.publicToken],
      )
      const deadline = `"deadline":"${moved?.deadline.toISOString()}"`
      const request = sent.replace(/"deadline":"[^"]+"/, deadline)
      assert.equal(outcome?.details.decision.requestHash, hash('sha256', request, 'hex'))
      const isApproved = responseCode === '00'
      assert.equal((await spendingOf(service, card)).amount, isApproved ? 700 : 0)
      assert.equal((await readNewest(service, card)).approved, isApproved)
    })
  }

  for (const fallback of [
    { onTimeout: 'approve' },
    { onTimeout: 'rule', rule: 'request.amounts.hold.amount <= 2000' },
  ]) {
    test(`a decision found 31 s after its deadline is declined: ${fallback.onTimeout}`, async () => {
      const card = await issueRestricted(service, { limits })
      loseAuthorization(card, fallback)
      await untilWaiting(card, 1)
      await sql(
        service.database,
        `update decision set deadline = now() - interval '31 seconds'
         where public_token = $1 and concluded_at is null`,
        [card.publicToken],
      )
      const faults: unknown[] = []
      await sweepDecisions(other.deciding.concluding, (fault) => faults.push(fault))
      assert.deepEqual(faults, [])
      const [outcome] = await outcomesOf(service, card)
      assert.equal(outcome?.details.responseCode, '91')
      assert.equal(outcome?.details.decidedBy, 'fallback:timeout')
      assert.equal((await spendingOf(service, card)).amount, 0)
    })
  }

  test('a repeat after a lost process gets the answer of the fallback, without a sweep', async () => {
    const card = await issueRestricted(service, { limits })
    const idempotencyKey = randomUUID()
    const request = {
      networkId: networkId(),
      requestId: randomUUID(),
      card: { publicToken: card.publicToken },
      entryMode: 'ecommerce',
      cardRead: 'none',
      reference: 'R-0',
      transaction: toTransaction({ amount: 700, currency: 'EUR' }),
    } as const
    const repeatable = {
      clientId: networkId(),
      idempotencyKey,
      request: new Secret('the same'),
      bearsSecret: true,
    }
    const before = deciding.asked.length
    void authorize(loseProcess(), request, repeatable)
    await untilWaiting(card, 1)
    await passDeadlines(service.database)
    const repeat = await authorize(other.authorizing, request, repeatable)
    assert.equal(repeat.replayed, true)
    assert.equal(repeat.result.responseCode, '91')
    assert.equal(deciding.asked.length, before)
    assert.equal((await spendingOf(service, card)).amount, 0)
    const again = await authorize(service.authorizing, request, repeatable)
    assert.deepEqual(again, repeat)
  })
})
