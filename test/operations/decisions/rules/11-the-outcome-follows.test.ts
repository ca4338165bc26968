import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { type DecisionBehaviour, hang } from '../../../support/decision-endpoint.ts'
import { type IssuedCard, issueCard, pinTry } from '../../../support/network.ts'
import type { TestService } from '../../../support/service.ts'
import { onEachEngine } from '../../authorizations/engines.ts'
import { typesOf } from '../../authorizations/tried.ts'
import { buy, type Deciding, letClientDecide, outcomesOf, purchaseOf } from '../deciding.ts'

const answers: Readonly<Record<string, { behaviour: DecisionBehaviour; responseCode: string }>> = {
  approval: { behaviour: () => ({ decision: 'approve' }), responseCode: '00' },
  decline: { behaviour: () => ({ decision: 'decline' }), responseCode: '05' },
  challenge: { behaviour: () => ({ decision: 'challenge' }), responseCode: '1A' },
  'useless answer': { behaviour: () => ({ decision: 'perhaps' }), responseCode: '91' },
  'time-out': { behaviour: hang, responseCode: '91' },
}

onEachEngine((engine) => {
  let service: TestService
  let deciding: Deciding
  before(async () => {
    service = await engine.openOne()
    deciding = await letClientDecide(service, { timeoutMs: 1_500 })
  })

  const requests: Readonly<Record<string, (card: IssuedCard) => object>> = {
    'with a PIN': (card) => ({ ...pinTry(service, card), publicToken: card.publicToken }),
    'without a PIN': () => ({}),
  }
  for (const [answer, { behaviour, responseCode }] of Object.entries(answers)) {
    for (const [how, request] of Object.entries(requests)) {
      test(`one event follows the ${answer} of a purchase ${how}, with the decisionId`, async () => {
        const card = await issueCard(service)
        const before = deciding.asked.length
        deciding.answerBy(behaviour)
        const { json } = await buy(service, card, { ...purchaseOf(1_000), ...request(card) })
        assert.equal(json.responseCode, responseCode)
        const [outcome, ...others] = await outcomesOf(service, card)
        assert.deepEqual(others, [])
        assert.ok(outcome)
        const isApproved = responseCode === '00'
        const type = isApproved ? 'authorization.approved' : 'authorization.declined'
        assert.equal(outcome.type, type)
        const { body } = deciding.asked[before] ?? assert.fail('The client was not asked.')
        assert.equal(outcome.details.decisionId, body.decisionId)
        assert.equal(outcome.details.authorizationId, body.authorizationId)
        assert.equal(outcome.details.responseCode, responseCode)
        assert.equal(outcome.details.paymentId, isApproved ? json.paymentId : undefined)
        // Also asserts that the events of the card have no gap.
        assert.ok((await typesOf(service.database, card.publicToken)).length > 0)
      })
    }
  }

  test('the event of an increment precedes that of its payment', async () => {
    const card = await issueCard(service)
    deciding.answerBy(() => ({ decision: 'approve' }))
    const { paymentId } = (await buy(service, card, purchaseOf(1_000))).json
    await buy(service, card, purchaseOf(300, { paymentId }))
    const outcomes = await outcomesOf(service, card)
    assert.deepEqual(
      outcomes.map(({ details }) => details.paymentId),
      [paymentId, paymentId],
    )
  })
})
