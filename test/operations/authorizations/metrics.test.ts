import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, issueCard, otherDigits, pinTry } from '../../support/network.ts'
import { openTestService } from '../../support/service.ts'
import { hsmAway, watchHsm } from './watched-hsm.ts'

test('authorizations and checks are counted by what they came to, and a repeat is not', async () => {
  const service = await openTestService()
  const card = await issueCard(service)
  const headers = { 'idempotency-key': 'counted-once' }
  await ask(service, pinTry(service, card))
  const wrong = { reference: 'R', ...pinTry(service, card, otherDigits(card.pin)) }
  await ask(service, wrong, { headers })
  await ask(service, wrong, { headers })
  const { text } = await service.call('GET', '//metrics', { listener: 'private', token: null })
  assert.match(text, /^pinfold_authorizations_total\{response_code="00"\} 1$/m)
  assert.match(text, /^pinfold_authorizations_total\{response_code="55"\} 1$/m)
  assert.match(text, /^pinfold_checks_total\{kind="pin",result="match"\} 1$/m)
  assert.match(text, /^pinfold_checks_total\{kind="pin",result="mismatch"\} 1$/m)
  assert.ok(!text.includes(card.publicToken), 'no card is named in a metric')
})

test('a check that the HSM gave no answer to is counted as its fault', async () => {
  const service = await openTestService()
  const card = await issueCard(service)
  watchHsm([service]).before = () => {
    throw hsmAway()
  }
  assert.equal((await ask(service, pinTry(service, card))).json.responseCode, '96')
  const { text } = await service.call('GET', '//metrics', { listener: 'private', token: null })
  assert.match(text, /^pinfold_hsm_faults_total 1$/m)
})
