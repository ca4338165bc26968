import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isClientId, scopeKinds } from '../../src/domain/client.ts'
import {
  derivePersonId,
  isPersonId,
  isRole,
  listPersonScopes,
  roles,
  scopesByRole,
} from '../../src/domain/person.ts'

const issuer = 'https://issuer.test'

test('a person has one id for good, which no two pairs of issuer and subject share', () => {
  // printf '%s' '["https://issuer.test","1"]' | sha256sum | cut -c1-40
  assert.equal(
    derivePersonId({ issuer, subject: '1' }),
    'person-df4345cc98d1fb8a94d997e0776a26d8f3ac8444',
  )
  const pairs = [
    { issuer, subject: '1' },
    { issuer, subject: '2' },
    { issuer: `${issuer}/`, subject: '1' },
    { issuer: `${issuer}","1`, subject: '' },
    { issuer, subject: '","1' },
  ]
  assert.equal(new Set(pairs.map(derivePersonId)).size, pairs.length)
})

test('the id of a person can stand wherever a client’s does, and is told from one', () => {
  const personId = derivePersonId({ issuer, subject: 'a subject with spaces, 💳 and "quotes"' })
  assert.ok(isClientId(personId))
  assert.ok(isPersonId(personId))
  for (const other of ['admin', 'a-person-1', 'person', 'Person-1', '']) {
    assert.equal(isPersonId(other), false, other)
  }
})

test('a person may do what its roles may, together, and nothing without one', () => {
  assert.deepEqual([...listPersonScopes({ roles: [] })], [])
  assert.deepEqual([...listPersonScopes({ roles: ['viewer'] })], ['support.read'])
  assert.deepEqual(
    [...listPersonScopes({ roles: ['viewer', 'key-officer'] })],
    ['support.read', 'keys.read', 'keys.write', 'approve'],
  )
  assert.deepEqual(
    [...listPersonScopes({ roles: ['support', 'viewer'] })],
    ['support.read', 'support.write', 'support.pan'],
  )
})

test('a role is one of the table, and has scopes of the private listener that a client system has not', () => {
  assert.equal(roles.length, 7)
  for (const role of roles) {
    assert.ok(isRole(role))
    assert.ok(scopesByRole[role].length > 0, role)
    for (const scope of scopesByRole[role]) assert.notEqual(scopeKinds[scope], 'client', role)
  }
  for (const other of ['toString', 'admin', '']) assert.equal(isRole(other), false, other)
})

test('who may look at cards and who administers or keeps keys are different roles', () => {
  const having = (scope: (typeof scopesByRole.viewer)[number]) =>
    roles.filter((role) => scopesByRole[role].includes(scope))
  assert.deepEqual(having('admin'), ['security-officer'])
  assert.deepEqual(having('keys.write'), ['key-officer'])
  assert.deepEqual(having('support.write'), ['support', 'support-lead'])
  assert.deepEqual(having('support.pan'), ['support', 'support-lead'])
  assert.deepEqual(having('approve'), ['support-lead', 'key-officer', 'security-officer'])
})
