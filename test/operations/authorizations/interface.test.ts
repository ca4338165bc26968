import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { Value } from 'typebox/value'
import { AuthorizationSchema } from '../../../src/operations/authorizations/authorization.ts'
import { addNetwork, ask, type IssuedCard, issueCard, pinTry } from '../../support/network.ts'
import { openTestService, type TestService } from '../../support/service.ts'
import { administerOf } from '../clients/administer.ts'
import { attemptsOf } from './tried.ts'

let service: TestService
let card: IssuedCard

before(async () => {
  service = await openTestService()
  card = await issueCard(service)
})

const assertNothingSpent = async (): Promise<void> =>
  assert.deepEqual(await attemptsOf(service.database, card.publicToken), [])

test('a client system’s token does not reach the network’s side, with whatever scopes it has', async () => {
  for (const as of ['client', 'otherClient'] as const) {
    const token = await service.token(undefined, as)
    const answer = await ask(service, pinTry(service, card), { token })
    assert.deepEqual([answer.status, answer.json.code], [401, 'unauthenticated'])
  }
  await assertNothingSpent()
})

test('an administrator’s token has not the scope, and is told which is needed', async () => {
  const token = await service.token(undefined, 'admin')
  const answer = await ask(service, pinTry(service, card), { token })
  assert.deepEqual([answer.status, answer.json.code], [403, 'insufficient_scope'])
  assert.match(String(answer.headers['www-authenticate']), /scope="authorizations\.write"/)
  await assertNothingSpent()
})

test('without a token nothing is answered', async () => {
  const answer = await ask(service, pinTry(service, card), { token: null })
  assert.equal(answer.status, 401)
  assert.match(String(answer.headers['www-authenticate']), /^Bearer/)
})

test('on the public listener there are no authorizations, for any token', async () => {
  const tokens = [
    null,
    await service.token(),
    await service.token(undefined, 'network'),
    await service.token(undefined, 'admin'),
  ]
  for (const token of tokens) {
    for (const path of ['//network/authorizations', '/network/authorizations', '//sandbox/clock']) {
      const answer = await service.call('POST', path, { body: pinTry(service, card), token })
      assert.deepEqual([answer.status, answer.json.code], [404, 'not_found'])
    }
  }
  await assertNothingSpent()
})

test('on the private listener there is no operation of a client system', async () => {
  const token = await service.token(undefined, 'network')
  for (const path of [
    '/products',
    `/card-pin/${card.publicToken}/pin`,
    '/simulator/authorizations',
  ]) {
    const answer = await service.call('GET', path, { token, listener: 'private' })
    assert.equal(answer.status, 404)
  }
})

test('a client system cannot be given the network’s scope', async () => {
  const { clientId, clientSecret } = service.sandbox ?? { clientId: '', clientSecret: '' }
  const answer = await service.call('POST', '//oauth/token', {
    token: null,
    payload: 'grant_type=client_credentials&scope=authorizations.write',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`,
    },
  })
  assert.deepEqual([answer.status, answer.json.error], [400, 'invalid_scope'])
})

test('a network that was disabled before it asked for anything is refused', async () => {
  const network = await addNetwork(service)
  await administerOf(service)('PATCH', `/clients/${network.clientId}`, { active: false })
  const answer = await ask(service, pinTry(service, card), { token: network.token })
  assert.equal(answer.status, 401)
  await assertNothingSpent()
})

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

test('an answer has one of the response codes that are documented', () => {
  const codes =
    '00 03 05 10 13 14 41 43 46 51 54 55 57 59 61 62 65 75 78 86 88 91 94 96 1A N7'.split(' ')
  for (const responseCode of codes) assert.ok(isAnswer({ responseCode }), responseCode)
  for (const responseCode of ['', '01', '99', 0, null]) assert.ok(!isAnswer({ responseCode }))
  assert.deepEqual(AuthorizationSchema.properties.responseCode.enum, codes)
})

test('a PIN and a CVV2 come to one of the results that are documented, and to a count of tries', () => {
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
