import assert from 'node:assert/strict'
import { test } from 'node:test'
import { approvalKinds } from '../../../src/domain/approval.ts'
import { parseConfig } from '../../../src/service/config/config.ts'

const kinds = Object.keys(approvalKinds)
const people = { CONSOLE_ISSUER: 'https://people.example' }

const approvalsOf = (environment: Readonly<Record<string, string>>) => {
  const { config, faults } = parseConfig(environment)
  return {
    required: [...config.approvals.required],
    faults: faults.filter((fault) => fault.startsWith('APPROVALS')),
    weakened: config.weakened.filter(({ variable }) => variable === 'APPROVALS'),
  }
}

test('nothing needs an approval in a sandbox unless it is said', () => {
  assert.deepEqual(approvalsOf({ SANDBOX: 'true' }).required, [])
  const some = approvalsOf({ SANDBOX: 'true', APPROVALS: 'erasure, key-export' })
  assert.deepEqual([some.required, some.faults], [['erasure', 'key-export'], []])
  assert.deepEqual(approvalsOf({ SANDBOX: 'true', APPROVALS: 'all' }).required, kinds)
})

test('in production everything needs one where people can sign in, and nothing where nobody could approve', () => {
  assert.deepEqual(approvalsOf({ SANDBOX: 'false', ...people }).required, kinds)
  const none = approvalsOf({ SANDBOX: 'false' })
  assert.deepEqual([none.required, none.faults], [[], []])
})

test('an installation without people refuses to start where something would need one', () => {
  const { faults } = approvalsOf({ SANDBOX: 'false', APPROVALS: 'erasure' })
  assert.deepEqual(faults, [
    'APPROVALS must be combined with CONSOLE_ISSUER: only people approve, and the issuer authenticates them.',
  ])
  assert.deepEqual(approvalsOf({ SANDBOX: 'false', APPROVALS: 'none' }).faults, [])
})

test('a kind that there is not is refused, by a list of those that there are', () => {
  const { faults } = approvalsOf({ SANDBOX: 'true', APPROVALS: 'erasure,everything' })
  assert.equal(faults.length, 1)
  for (const kind of kinds) assert.ok(faults[0]?.includes(kind))
})

test('what is left out although people could approve it weakens production, on record', () => {
  const given = { SANDBOX: 'false', ...people }
  assert.deepEqual(approvalsOf(given).weakened, [])
  const less = kinds.filter((kind) => kind !== 'erasure')
  const { weakened } = approvalsOf({ ...given, APPROVALS: less.join() })
  assert.deepEqual(weakened, [{ variable: 'APPROVALS', found: 'leaves out erasure' }])
  assert.deepEqual(approvalsOf({ SANDBOX: 'true', ...people }).weakened, [])
})
