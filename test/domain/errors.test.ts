import assert from 'node:assert/strict'
import test from 'node:test'
import { eventTypes, isEventType } from '../../src/domain/event-type.ts'
import { Problem, validationFailed } from '../../src/domain/problem.ts'
import { problemKinds } from '../../src/domain/problem-kinds.ts'

const contract = {
  400: ['malformed_request'],
  401: ['unauthenticated', 'login_too_old'],
  403: ['insufficient_scope', 'same_person', 'erasure_refused', 'not_requester'],
  404: ['not_found', 'card_not_found'],
  405: ['method_not_allowed'],
  409: [
    'card_closed',
    'card_already_replaced',
    'not_replaced',
    'delivery_conflict',
    'renewal_not_due',
    'renewal_in_progress',
    'nothing_to_migrate',
    'renewal_produced',
    'too_many_plastics',
    'card_without_chip',
    'too_many_chip_commands',
    'card_status_conflict',
    'controls_version_conflict',
    'decision_version_conflict',
    'pin_not_revealable',
    'key_in_use',
    'snapshot_unusable',
    'virtual_chip_unusable',
    'audit_log_continues',
    'approval_over',
    'approval_stale',
    'payload_hash_mismatch',
    'decision_answered',
    'decision_over',
    'idempotency_key_in_use',
  ],
  413: ['body_too_large'],
  415: ['unsupported_media_type'],
  421: ['misdirected_request'],
  422: [
    'validation_failed',
    'product_not_available',
    'conversion_not_supported',
    'decision_ping_failed',
    'weak_pin',
    'pin_not_transferable',
    'invalid_session_key',
    'invalid_encrypted_pin',
    'idempotency_key_reused',
    'key_refused',
  ],
  429: ['rate_limited'],
  500: ['internal_error'],
  503: ['unavailable'],
}

test('the table of failures is the one that is published, code by code', () => {
  const published = Object.entries(contract).flatMap(([status, codes]) =>
    codes.map((code) => [code, Number(status)]),
  )
  const table = Object.entries(problemKinds).map(([code, { status }]) => [code, status])
  assert.deepEqual(table, published)
})

test('every failure has a title and an explanation in whole sentences', () => {
  for (const [code, { title, explanation }] of Object.entries(problemKinds)) {
    assert.match(title, /^[A-Z].*\.$/, code)
    assert.match(explanation, /^[A-Z].{80,}\.$/, code)
  }
})

test('a failure carries what is particular to it', () => {
  const problem = new Problem('method_not_allowed', { allow: ['GET', 'POST'], detail: 'Not PUT.' })
  assert.equal(problem.status, 405)
  assert.equal(problem.detail, 'Not PUT.')
  assert.deepEqual(problem.headers, { allow: 'GET, POST' })
  assert.ok(problem instanceof Error)
  assert.ok(!('cause' in problem))
})

test('a caller who must wait is always told how long, in whole seconds, at least one', () => {
  const wait = (problem: Problem) => problem.headers['retry-after']
  assert.equal(wait(new Problem('rate_limited', { retryAfterSeconds: 12.2 })), '13')
  assert.equal(wait(new Problem('rate_limited', { retryAfterSeconds: 0 })), '1')
  assert.equal(wait(new Problem('unavailable')), '5')
  assert.equal(wait(new Problem('not_found')), undefined)
})

test('all that is wrong with a request is told at once', () => {
  const errors = [
    { pointer: '/pin', detail: 'must be a string' },
    { pointer: '', detail: 'must be an object' },
  ]
  assert.deepEqual(validationFailed(...errors).errors, errors)
  assert.equal(validationFailed(...errors).code, 'validation_failed')
})

test('a type of event is one of those that are published, and no other text', () => {
  for (const type of eventTypes) assert.equal(isEventType(type), true)
  for (const text of ['', 'pin', 'pin.set ', 'PIN.SET', 'card.deleted', 'toString']) {
    assert.equal(isEventType(text), false, text)
  }
})
