import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Static } from 'typebox'
import type { components } from '../../../packages/sdk/client/generated/openapi.ts'
import {
  type DecisionAnswer,
  type DecisionRequest,
  verifyDecision,
} from '../../../packages/sdk/webhooks/webhooks.ts'
import { generateDecisionKeys } from '../../../src/domain/decision-keys.ts'
import type {
  DecisionAnswerSchema,
  DecisionRequestSchema,
} from '../../../src/listeners/public/schemas/decisions.ts'
import { composePinfoldRequest } from '../../../src/operations/decisions/compose-request.ts'
import { someRequest } from '../../operations/decisions/requests.ts'

type Frozen<Value> = Value extends object
  ? { readonly [Name in keyof Value]: Frozen<Value[Name]> }
  : Value
type IsSame<One, Other> = [One] extends [Other] ? ([Other] extends [One] ? true : false) : false

/** Does not compile unless each type can stand for the other. */
const types: {
  readonly request: IsSame<DecisionRequest, Frozen<Static<typeof DecisionRequestSchema>>>
  // The metadata is the client's own.
  readonly answer: IsSame<
    Omit<DecisionAnswer, 'metadata'>,
    Omit<Frozen<Static<typeof DecisionAnswerSchema>>, 'metadata'>
  >
} = { request: true, answer: true }

test('the types of requests and answers are those of the service, both ways', () => {
  assert.deepEqual(types, { request: true, answer: true })
  const generated: components['schemas']['DecisionAnswer'] = { decision: 'approve' }
  const answer: DecisionAnswer = generated
  assert.equal(answer.decision, 'approve')
})

const { keys, publicKey } = generateDecisionKeys()
const secret = keys.hmacSecret.reveal()
const body = composePinfoldRequest(someRequest())
const sign = (at = new Date(), text = body) => {
  const timestamp = String(Math.floor(at.getTime() / 1_000))
  return {
    'webhook-id': 'decision-1',
    'webhook-timestamp': timestamp,
    'webhook-signature': keys.sign('decision-1', timestamp, text).join(' '),
  }
}

for (const [name, key] of [
  ['the secret', secret],
  ['the public key', publicKey],
] as const) {
  test(`a request is verified with ${name}, in each form of headers`, async () => {
    const headers = sign()
    const expected = JSON.parse(body)
    assert.deepEqual(await verifyDecision(headers, body, key), expected)
    assert.deepEqual(await verifyDecision(new Headers(headers), body, key), expected)
  })

  test(`a changed, old or foreign request is refused with ${name}`, async () => {
    const changed = body.replace('1250', '1')
    await assert.rejects(verifyDecision(sign(), changed, key), { code: 'invalid_signature' })
    const old = sign(new Date(Date.now() - 301_000))
    await assert.rejects(verifyDecision(old, body, key), { code: 'wrong_time' })
    const { keys: others } = generateDecisionKeys()
    const signed = sign()
    const signature = others.sign('decision-1', signed['webhook-timestamp'], body).join(' ')
    const foreign = { ...signed, 'webhook-signature': signature }
    await assert.rejects(verifyDecision(foreign, body, key), { code: 'invalid_signature' })
    await assert.rejects(verifyDecision({}, body, key), { code: 'missing_header' })
  })
}

test('of two signatures of one kind, as after a rotation, either is enough', async () => {
  const { keys: newer } = generateDecisionKeys()
  const headers = sign()
  const first = newer.sign('decision-1', headers['webhook-timestamp'], body).join(' ')
  const both = { ...headers, 'webhook-signature': `${first} ${headers['webhook-signature']}` }
  for (const key of [secret, publicKey]) await verifyDecision(both, body, key)
})

test('a key of a wrong form is refused', async () => {
  for (const key of ['whpk_AAAA', `${publicKey}\n`]) {
    await assert.rejects(verifyDecision(sign(), body, key), { code: 'invalid_public_key' })
  }
  await assert.rejects(verifyDecision(sign(), body, 'secret'), { code: 'invalid_secret' })
})

test('a ping is told from a request by its type, with the challenge to answer', async () => {
  const ping = JSON.stringify({ type: 'decision.ping', challenge: '9mV0bq8gYFJk0lq9r2c3JQ' })
  const verified = await verifyDecision(sign(new Date(), ping), ping, secret)
  assert.equal('type' in verified && verified.challenge, '9mV0bq8gYFJk0lq9r2c3JQ')
  assert.equal('type' in (await verifyDecision(sign(), body, secret)), false)
})
