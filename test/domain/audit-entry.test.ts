import assert from 'node:assert/strict'
import { test } from 'node:test'
import { computeCommitment } from '../../packages/audit/tree.ts'
import {
  type AuditEntry,
  attemptEntryId,
  outcomesByEvent,
  outcomesByResult,
} from '../../src/domain/audit-entry.ts'
import { eventTypes } from '../../src/domain/event-type.ts'
import { commitEntries } from '../../src/operations/audit-log/commit-entries.ts'

const whole: Required<AuditEntry> = {
  details: { remainingTries: 2 },
  device: 'NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs',
  count: 2,
  reason: 'rate_limited',
  outcome: 'refused',
  number: 7,
  subject: 'client-1',
  key: 'cvk/2',
  sequence: 3,
  card: '4820117360',
  request: 'r-1',
  client: 'demo-client',
  act: 'pin.revealed',
  at: '2026-11-23T07:00:00.123456Z',
  entry: '01966c8e-9c3a-7b5f-8e21-4d0f6a7b8c9d',
}

test('an entry is one JSON object whose members stand in one order, those that are not known left out', () => {
  const { details, ...rest } = whole
  const [all, few, empty] = commitEntries([
    whole,
    { entry: whole.entry, at: whole.at, act: 'key.retired', outcome: 'done', key: 'cvk/1' },
    { ...rest, details: {} },
  ])
  assert.equal(
    all?.text,
    '{"entry":"01966c8e-9c3a-7b5f-8e21-4d0f6a7b8c9d","at":"2026-11-23T07:00:00.123456Z","act":"pin.revealed","client":"demo-client","request":"r-1","card":"4820117360","sequence":3,"key":"cvk/2","subject":"client-1","number":7,"outcome":"refused","reason":"rate_limited","count":2,"device":"NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs","details":{"remainingTries":2}}',
  )
  assert.equal(
    few?.text,
    '{"entry":"01966c8e-9c3a-7b5f-8e21-4d0f6a7b8c9d","at":"2026-11-23T07:00:00.123456Z","act":"key.retired","key":"cvk/1","outcome":"done"}',
  )
  assert.equal(empty?.text, all.text.replace(`,"details":${JSON.stringify(details)}`, ''))
})

test('each entry is committed to under a salt of its own, and kept with whose it is', () => {
  const entries = commitEntries([
    whole,
    whole,
    { entry: 'e', at: whole.at, act: 'process.started', outcome: 'done' },
  ])
  const salts = entries.map(({ salt }) => Buffer.from(salt).toString('hex'))
  assert.equal(new Set(salts).size, 3)
  for (const { commitment, salt, text } of entries) {
    assert.equal(salt.length, 32)
    assert.deepEqual(commitment, computeCommitment(salt, text))
  }
  assert.deepEqual(
    entries.map(({ act, clientId, entryId, publicToken }) => [entryId, act, clientId, publicToken]),
    [
      [whole.entry, 'pin.revealed', 'demo-client', '4820117360'],
      [whole.entry, 'pin.revealed', 'demo-client', '4820117360'],
      ['e', 'process.started', null, null],
    ],
  )
})

test('the entry of an attempt has one id, by card, kind and number, that begins with its instant', () => {
  const attempt = { publicToken: '4820117360', kind: 'pin', tryNumber: 1, at: whole.at } as const
  const id = attemptEntryId(attempt)
  // Version 8 and the variant of RFC 9562.
  assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  assert.equal(
    Number.parseInt(id.replace('-', '').slice(0, 12), 16),
    Date.parse('2026-11-23T07:00:00.123Z'),
  )
  assert.equal(attemptEntryId({ ...attempt }), id)
  const others = [
    { ...attempt, publicToken: '4820117361' },
    { ...attempt, kind: 'cvv' as const },
    ...Array.from({ length: 50 }, (_, at) => ({ ...attempt, tryNumber: at + 2 })),
  ].map(attemptEntryId)
  assert.equal(new Set([id, ...others]).size, others.length + 1)
  assert.deepEqual([...new Set(others.map((each) => each.charAt(19)))].toSorted(), [
    '8',
    '9',
    'a',
    'b',
  ])
})

test('each event and each result of a try has one outcome: done, refused or failed', () => {
  const refused = eventTypes.filter((type) => outcomesByEvent[type] !== 'done')
  assert.deepEqual(refused, [
    'pin.attempt_failed',
    'cvv.attempt_failed',
    'authorization.declined',
    'decision.late',
    'chip.command_failed',
    'chip.command_unconfirmed',
  ])
  const failed = refused.filter((type) => outcomesByEvent[type] !== 'refused')
  assert.deepEqual(failed, ['chip.command_failed', 'chip.command_unconfirmed'])
  assert.deepEqual(outcomesByResult, { match: 'done', mismatch: 'refused', unresolved: 'failed' })
})
