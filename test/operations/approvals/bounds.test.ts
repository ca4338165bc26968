/** How much one requester can keep waiting, and what an approver is shown of it. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { listKeyThumbprints } from '../../../src/domain/client-keys.ts'
import { expireApprovals } from '../../../src/operations/approvals/decide.ts'
import { ageApproval } from '../../support/builders.ts'
import { openTestService, type TestService } from '../../support/service.ts'
import { callAs, carryOut, makePerson, newJwks } from './people.ts'

const sol = makePerson('sol', 'security-officer')

let service: TestService
before(async () => {
  service = await openTestService({
    env: { APPROVALS: 'all', APPROVALS_UNBLOCK_CARDS: '1', RATE_LIMIT: 'off' },
  })
})

let drawn = 0
const newClient = (members: object = {}) => {
  drawn += 1
  return {
    clientId: `client-${drawn}`,
    clientName: 'A client',
    kind: 'client',
    scopes: ['pin.reveal'],
    jwks: newJwks(),
    ...members,
  }
}
const approve = async ({ approvalId, payloadHash }: Record<string, string>, person = sol) => {
  const path = `/approvals/${approvalId}/approve`
  const approved = await callAs(service, person, 'POST', path, { body: { payloadHash } })
  assert.equal(approved.status, 200, JSON.stringify(approved.body))
  await carryOut(service)
  return (await callAs(service, person, 'GET', `/approvals/${approvalId}`)).body
}

test('keeps twenty requests of one requester waiting at most, however many come at once', async () => {
  const [ann, bea] = [makePerson('ann', 'security-officer'), makePerson('bea', 'security-officer')]
  const ask = async (person = ann) => {
    const body = newClient()
    let answer = await callAs(service, person, 'POST', '/clients', { body })
    // Where the others hold the lock for long, one is told to come again.
    for (let time = 0; time < 10 && answer.status === 503; time += 1) {
      answer = await callAs(service, person, 'POST', '/clients', { body })
    }
    return answer
  }
  const key = crypto.randomUUID()
  const body = newClient()
  const first = await callAs(service, ann, 'POST', '/clients', { body, key })
  const answers = await Promise.all(Array.from({ length: 24 }, () => ask()))
  const refused = answers.filter(({ status }) => status === 429)
  assert.equal(answers.filter(({ status }) => status === 202).length, 19)
  assert.equal(refused.length, 5)
  assert.equal(refused[0]?.body.code, 'rate_limited')
  assert.match(refused[0]?.body.detail, /limit of 20 open requests/)
  // A repeat is no other request, and others ask as ever.
  const again = await callAs(service, ann, 'POST', '/clients', { body, key })
  assert.deepEqual([again.status, again.body.approvalId], [202, first.body.approvalId])
  assert.equal((await ask(bea)).status, 202)
  const path = `/approvals/${first.body.approvalId}/withdraw`
  assert.equal((await callAs(service, ann, 'POST', path)).status, 200)
  assert.equal((await ask()).status, 202)
  assert.equal((await ask()).status, 429)
})

test('forgets the payload of what expired or was withdrawn, and keeps that of what was refused', async () => {
  const cy = makePerson('cy', 'security-officer')
  const ask = async () =>
    (await callAs(service, cy, 'POST', '/clients', { body: newClient() })).body.approvalId
  const [expired, withdrawn, refused] = [await ask(), await ask(), await ask()]
  await ageApproval(service.database, expired, '24 hours')
  await expireApprovals(service.approvals, new AbortController().signal)
  await callAs(service, cy, 'POST', `/approvals/${withdrawn}/withdraw`)
  const body = { reason: 'Nobody knows them' }
  await callAs(service, sol, 'POST', `/approvals/${refused}/refuse`, { body })
  for (const [approvalId, state] of [
    [expired, 'expired'],
    [withdrawn, 'withdrawn'],
  ]) {
    const shown = await callAs(service, sol, 'GET', `/approvals/${approvalId}`)
    assert.deepEqual([shown.body.state, shown.body.payload], [state, null])
  }
  const kept = await callAs(service, sol, 'GET', `/approvals/${refused}`)
  assert.deepEqual([kept.body.state, typeof kept.body.payload], ['refused', 'string'])
})

test('carries out a request whatever its requester uses its id as a key for', async () => {
  const dan = makePerson('dan', 'security-officer')
  const asked = await callAs(service, dan, 'POST', '/clients', { body: newClient() })
  const { approvalId } = asked.body
  const other = { clientId: 'plain', clientName: 'Plain', kind: 'client', scopes: [] }
  const taken = await callAs(service, dan, 'POST', '/clients', { body: other, key: approvalId })
  assert.equal(taken.status, 201)
  // The key that it is sent under has a space, which no caller's key can have.
  const spaced = await service.call('POST', '//clients', {
    as: 'admin',
    listener: 'private',
    headers: { 'idempotency-key': `approval ${approvalId}` },
    body: { ...other, clientId: 'plain-2' },
  })
  assert.deepEqual([spaced.status, spaced.json.code], [400, 'malformed_request'])
  const done = await approve(asked.body)
  assert.deepEqual([done.state, done.outcomeStatus], ['done', 201])
})

test('shows the path in one spelling, the scopes of the client, and whose keys there are', async () => {
  const eve = makePerson('eve', 'security-officer')
  const body = newClient({ scopes: ['pin.reveal', 'cards.read'] })
  const made = await callAs(service, eve, 'POST', '/clients', { body })
  assert.equal(made.body.client, null)
  assert.deepEqual(made.body.keyThumbprints, listKeyThumbprints(body.jwks))
  await approve(made.body)
  const spelled = `/clients/%63lient%2D${body.clientId.slice('client-'.length)}`
  const change = { jwks: newJwks() }
  const asked = await callAs(service, eve, 'PATCH', spelled, { body: change })
  assert.equal(asked.status, 202, JSON.stringify(asked.body))
  const shown = (await callAs(service, sol, 'GET', `/approvals/${asked.body.approvalId}`)).body
  assert.equal(shown.path, `/clients/${body.clientId}`)
  assert.equal(JSON.parse(shown.payload).path, shown.path)
  const { credentialsChangedAt, ...client } = shown.client
  assert.ok(Date.parse(credentialsChangedAt) <= Date.now() + 60_000)
  assert.deepEqual(client, {
    clientId: body.clientId,
    kind: 'client',
    active: true,
    scopes: body.scopes,
    authentication: 'private_key_jwt',
    credentialsVersion: 1,
    credentialsGivenBy: [eve.personId],
    keyThumbprints: listKeyThumbprints(body.jwks),
  })
  assert.deepEqual(shown.keyThumbprints, listKeyThumbprints(change.jwks))
  assert.equal((await approve(asked.body)).state, 'done')
})

test('computes the thumbprint of RFC 7638, and none of what is no key', () => {
  // RFC 7638 section 3.1.
  const key = {
    kty: 'RSA',
    n: [
      '0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECP',
      'ebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY',
      '368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0f',
      'M4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw',
    ].join(''),
    e: 'AQAB',
    alg: 'RS256',
    kid: '2011-04-29',
  }
  const thumbprint = 'NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs'
  assert.deepEqual(listKeyThumbprints(key), [thumbprint])
  assert.deepEqual(listKeyThumbprints({ keys: [key, {}, { kty: 'EC' }] }), [thumbprint])
  assert.deepEqual(listKeyThumbprints(undefined), [])
})

test('counts the cards that one person unblocks in an hour over all calls, and a repeat once', async () => {
  const own = await openTestService({
    env: { APPROVALS: 'unblock-cards', APPROVALS_UNBLOCK_CARDS: '3', RATE_LIMIT: 'off' },
  })
  const [lea, leo] = [makePerson('lea', 'support-lead'), makePerson('leo', 'support-lead')]
  const unblock = (person: typeof lea, count: number, key: string = crypto.randomUUID()) => {
    const publicTokens = ['4820117360', '4820117361', '4820117362', '4820117363'].slice(0, count)
    const body = { publicTokens, kind: 'pin', reason: 'An outage' }
    return callAs(own, person, 'POST', '/cards/unblock', { body, key })
  }
  const key = crypto.randomUUID()
  for (let repeat = 0; repeat < 3; repeat += 1) {
    assert.equal((await unblock(lea, 2, key)).status, 200)
  }
  // Two more would be four: none of them is counted, and one is left.
  assert.equal((await unblock(lea, 2)).status, 202)
  assert.equal((await unblock(lea, 1)).status, 200)
  assert.equal((await unblock(lea, 1)).status, 202)
  // Every person has a count of their own.
  assert.equal((await unblock(leo, 4)).status, 202)
  assert.equal((await unblock(leo, 3)).status, 200)
})

test('shows the approver what happened to each card of an act on many', async () => {
  const [lea, leo] = [makePerson('lea', 'support-lead'), makePerson('leo', 'support-lead')]
  const { publicToken } = await service.createCard()
  const body = { publicTokens: [publicToken, '4820117360'], kind: 'pin', reason: 'An outage' }
  const asked = await callAs(service, lea, 'POST', '/cards/unblock', { body })
  const { outcome } = await approve(asked.body, leo)
  assert.deepEqual(
    outcome.map((each: { publicToken: string; unblocked: boolean; code?: string }) => [
      each.publicToken,
      each.unblocked,
      each.code,
    ]),
    [
      [publicToken, true, undefined],
      ['4820117360', false, 'card_not_found'],
    ],
  )
})
