import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Value } from 'typebox/value'
import { AuthorizationSchema } from '../../src/authorizing/authorization-schema.ts'

const outcome = { result: 'match', remainingTries: 3 }
const answer = {
  approved: true,
  responseCode: '00',
  publicToken: '4820117360',
  reference: '512345678901',
  pin: outcome,
  cvv: outcome,
}
const isAnswer = (members: object): boolean =>
  Value.Check(AuthorizationSchema, { ...answer, ...members })

test('an answer has one of the response codes that the contract names', () => {
  const codes = '00 14 41 43 46 54 55 62 75 78 86 96 N7'.split(' ')
  for (const responseCode of codes) assert.ok(isAnswer({ responseCode }), responseCode)
  for (const responseCode of ['', '01', '99', 0, null]) assert.ok(!isAnswer({ responseCode }))
  assert.deepEqual(AuthorizationSchema.properties.responseCode.enum, codes)
})

test('a PIN and a CVV2 come to one of the results that the contract names, and to a count of tries', () => {
  for (const kind of ['pin', 'cvv'] as const) {
    for (const result of ['match', 'mismatch', 'blocked', 'not_checked', 'unresolved']) {
      assert.ok(isAnswer({ [kind]: { result, remainingTries: 0 } }), result)
    }
    for (const wrong of [
      ...[{}, { result: 'match' }, { remainingTries: 1 }],
      ...['', 'no'].map((result) => ({ ...outcome, result })),
      ...[-1, 0.5, '1'].map((remainingTries) => ({ ...outcome, remainingTries })),
    ]) {
      assert.ok(!isAnswer({ [kind]: wrong }), JSON.stringify(wrong))
    }
  }
})

test('an answer says whether it approves and repeats its reference, and names a card that was found', () => {
  for (const member of ['publicToken', 'pin', 'cvv']) assert.ok(isAnswer({ [member]: undefined }))
  for (const member of ['approved', 'responseCode', 'reference']) {
    assert.ok(!isAnswer({ [member]: undefined }), member)
  }
  assert.ok(!isAnswer({ approved: 'yes' }) && !isAnswer({ reference: 7 }))
})
