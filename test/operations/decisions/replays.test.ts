import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { hang, openDecisionEndpoint } from '../../support/decision-endpoint.ts'
import { issueCard } from '../../support/network.ts'
import { openTestService, type TestService } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { buy, type Deciding, letClientDecide, purchaseOf } from './deciding.ts'
import { activate, setEndpoint } from './endpoint-service.ts'

suite('replays of a client', () => {
  let service: TestService
  let deciding: Deciding
  let decisionId: string
  before(async () => {
    service = await openTestService({ env: { CALLS_IN_FLIGHT: '2' } })
    deciding = await letClientDecide(service)
    await buy(service, await issueCard(service), purchaseOf(1_000))
    decisionId = deciding.asked[0]?.body.decisionId
  })

  const replay = (options: object = {}) =>
    service.call('POST', `/decisions/${decisionId}/replay`, options)

  test('asking again needs the scope that decides', async () => {
    const token = await service.token('payments.read')
    assert.equal((await replay({ token })).json.code, 'insufficient_scope')
    assert.equal((await replay({ token: await service.token('decisions.write') })).status, 200)
  })

  test('who decides may read what was asked, and so may who reads payments', async () => {
    for (const scope of ['decisions.write', 'payments.read']) {
      const token = await service.token(scope)
      for (const path of ['/decisions', `/decisions/${decisionId}`]) {
        assert.equal((await service.call('GET', path, { token })).status, 200, `${scope} ${path}`)
      }
    }
    const token = await service.token('cards.read')
    assert.equal((await service.call('GET', '/decisions', { token })).status, 403)
  })

  test('four replays may hang at once, and hold up no answer by a call', async () => {
    const askedBefore = deciding.asked.length
    const { promise, resolve } = Promise.withResolvers<object>()
    deciding.answerBy(async ({ body }) => {
      if (body.purpose === 'replay') return promise
      const path = `/decisions/${body.decisionId}/answer`
      await service.call('POST', path, { body: { decision: 'approve' } })
      return promise
    })
    const hanging = Array.from({ length: 4 }, () => replay())
    await deciding.askedAfter(askedBefore + 3)
    const fifth = await replay()
    assert.deepEqual([fifth.status, fifth.json.code], [429, 'rate_limited'])
    const bought = await buy(service, await issueCard(service), purchaseOf(1_000))
    assert.equal(bought.json.responseCode, '00')
    resolve({ decision: 'decline' })
    const answers = await Promise.all(hanging)
    assert.deepEqual(
      answers.map(({ json }) => json.replay.decision),
      ['decline', 'decline', 'decline', 'decline'],
    )
    assert.equal((await replay()).status, 200, 'the places are free again')
  })

  test('pings that hang hold up no other call', async () => {
    const silent = await openDecisionEndpoint(hang)
    await setEndpoint(service, { url: silent.url, timeoutMs: 2_500 })
    let isOver = false
    const activating = [activate(service), activate(service)]
    Promise.all(activating).then(() => {
      isOver = true
    })
    await until(() => silent.received.length === 2)
    assert.equal((await service.call('GET', '/decisions')).status, 200)
    assert.ok(!isOver, 'the pings still hang')
    const answers = await Promise.all(activating)
    assert.ok(answers.every(({ json }) => json.code === 'decision_ping_failed'))
  })
})
