/**
 * Who takes over the credentials of a client that reads or sets PINs needs another person, and so
 * does one of a network.
 */
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { before, suite, test } from 'node:test'
import { guardedScopes } from '../../../src/domain/approval.ts'
import {
  computeStateDigest,
  parseSubject,
} from '../../../src/operations/approvals/subject-state.ts'
import { client } from '../../support/builders.ts'
import { openTestService, sql, type TestService } from '../../support/service.ts'
import { callAs, carryOut, makePerson, newJwks } from './people.ts'

const [sue, sol] = [makePerson('sue', 'security-officer'), makePerson('sol', 'security-officer')]

const newSecret = () => {
  const secret = randomBytes(32).toString('base64url')
  return { secret, secretHash: createHash('sha256').update(secret).digest('hex') }
}

/** Whether a client is given a token for a secret. */
const isTaken = async (service: TestService, clientId: string, secret: string) => {
  const answer = await service.publicServer.inject({
    method: 'POST',
    url: '/oauth/token',
    headers: {
      host: '127.0.0.1:8080',
      authorization: `Basic ${Buffer.from(`${clientId}:${secret}`).toString('base64')}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    payload: 'grant_type=client_credentials',
  })
  return answer.statusCode === 200
}

let drawn = 0
/** A client with a secret, as there may be one from before approvals were needed. */
const makeClient = async (
  service: TestService,
  kind: 'admin' | 'client' | 'network',
  scopes: readonly string[],
) => {
  drawn += 1
  const { secret, secretHash } = newSecret()
  const clientId = `holder-${drawn}`
  const members = { clientId, kind, scopes, secretHash: Buffer.from(secretHash, 'hex') }
  await client(service.database, members)
  return { clientId, secret }
}

const guarded = [
  ...guardedScopes.map((scope) => ['client', [scope]] as const),
  ['network', ['authorizations.write']] as const,
  ['admin', ['support.read']] as const,
]

suite('an installation where everything that can be approved needs another person', () => {
  let service: TestService
  before(async () => {
    service = await openTestService({ env: { APPROVALS: 'all', RATE_LIMIT: 'off' } })
  })
  const approve = async ({
    approvalId,
    payloadHash,
  }: {
    approvalId: string
    payloadHash: string
  }) => {
    const path = `/approvals/${approvalId}/approve`
    const approved = await callAs(service, sol, 'POST', path, { body: { payloadHash } })
    assert.equal(approved.status, 200, JSON.stringify(approved.body))
    await carryOut(service)
    return (await callAs(service, sol, 'GET', `/approvals/${approvalId}`)).body
  }

  for (const [kind, scopes] of guarded) {
    test(`keeps the secret of a ${kind} with ${scopes} until another person has approved the next one`, async () => {
      const { clientId, secret } = await makeClient(service, kind, scopes)
      const path = `/clients/${clientId}/rotate-secret`
      const shown = await callAs(service, sue, 'POST', path)
      assert.deepEqual([shown.status, shown.body.errors?.[0].pointer], [422, '/secretHash'])
      const next = newSecret()
      const body = { secretHash: next.secretHash, overlapHours: 0 }
      const asked = await callAs(service, sue, 'POST', path, { body })
      assert.equal(asked.status, 202, JSON.stringify(asked.body))
      assert.equal(await isTaken(service, clientId, secret), true)
      assert.equal(await isTaken(service, clientId, next.secret), false)
      const done = await approve(asked.body)
      assert.deepEqual(
        [done.state, done.outcomeStatus, done.outcome.clientSecret],
        ['done', 200, undefined],
      )
      const again = await openTestService({ database: service.database, dataDir: service.dataDir })
      assert.equal(await isTaken(again, clientId, next.secret), true)
      assert.equal(await isTaken(again, clientId, secret), false)
      await again.close()
    })

    test(`gives a ${kind} with ${scopes} no other keys before another person has approved them`, async () => {
      const { clientId, secret } = await makeClient(service, kind, scopes)
      const path = `/clients/${clientId}`
      for (const body of [{ jwks: newJwks() }, { certificateBoundTokens: true }]) {
        const asked = await callAs(service, sue, 'PATCH', path, { body })
        assert.equal(asked.status, 202, JSON.stringify(asked.body))
        assert.equal(await isTaken(service, clientId, secret), true)
        const shown = await callAs(service, sue, 'GET', path)
        const { authentication, credentialsVersion } = shown.body
        assert.deepEqual([authentication, credentialsVersion], ['client_secret', 1])
      }
    })
  }

  test('leaves the credentials of other clients to one person', async () => {
    const { clientId } = await makeClient(service, 'client', ['cards.read', 'pin.read'])
    const rotated = await callAs(service, sue, 'POST', `/clients/${clientId}/rotate-secret`)
    assert.deepEqual([rotated.status, typeof rotated.body.clientSecret], [200, 'string'])
    const body = { jwks: newJwks() }
    assert.equal(
      (await callAs(service, sue, 'PATCH', `/clients/${clientId}`, { body })).status,
      200,
    )
  })

  test('gives guarded scopes to no client whose secret one person has set', async () => {
    const { clientId } = await makeClient(service, 'client', ['pin.reveal'])
    const path = `/clients/${clientId}`
    const free = await callAs(service, sue, 'PATCH', path, { body: { scopes: [] } })
    assert.equal(free.status, 200)
    const rotated = await callAs(service, sue, 'POST', `${path}/rotate-secret`)
    assert.deepEqual([rotated.status, typeof rotated.body.clientSecret], [200, 'string'])
    const body = { scopes: ['pin.reveal'] }
    const refused = await callAs(service, sue, 'PATCH', path, { body })
    assert.deepEqual([refused.status, refused.body.errors?.[0].pointer], [422, '/jwks'])
    const withKeys = { ...body, jwks: newJwks() }
    const asked = await callAs(service, sue, 'PATCH', path, { body: withKeys })
    assert.equal(asked.status, 202, JSON.stringify(asked.body))
    assert.equal((await approve(asked.body)).state, 'done')
    assert.equal(await isTaken(service, clientId, rotated.body.clientSecret), false)
  })

  test('carries out no request for guarded scopes where the client has a secret that one person has set', async () => {
    const { clientId } = await makeClient(service, 'client', ['pin.reveal'])
    const path = `/clients/${clientId}`
    const body = { scopes: ['pin.reveal', 'pin.write'] }
    const asked = await callAs(service, sue, 'PATCH', path, { body })
    assert.equal(asked.status, 202, JSON.stringify(asked.body))
    // As if the client had held no such scope when the request was stored, a moment after the gate
    // read it.
    assert.equal((await callAs(service, sue, 'PATCH', path, { body: { scopes: [] } })).status, 200)
    const subject = parseSubject({ clientId })
    const digest = await computeStateDigest(service.database, 'disclosure-scopes', subject)
    await sql(
      service.database,
      `update approval set state_digest = decode($2, 'hex') where approval_id = $1::uuid
       returning approval_id`,
      [asked.body.approvalId, Buffer.from(digest).toString('hex')],
    )
    const failed = await approve(asked.body)
    assert.deepEqual(
      [failed.state, failed.outcomeStatus, failed.outcome.errors?.[0].pointer],
      ['failed', 422, '/jwks'],
    )
  })

  test('shows the approver by what a client proves who it is, and when and by whom that changed', async () => {
    const { clientId } = await makeClient(service, 'client', ['cards.read'])
    const path = `/clients/${clientId}`
    await callAs(service, sue, 'POST', `${path}/rotate-secret`)
    const body = { scopes: ['pin.reveal'], jwks: newJwks() }
    const { client } = (await callAs(service, sue, 'PATCH', path, { body })).body
    assert.deepEqual(
      [client.authentication, client.credentialsVersion, client.credentialsGivenBy],
      ['client_secret', 2, [sue.personId]],
    )
    assert.ok(Date.now() - Date.parse(client.credentialsChangedAt) < 600_000)
  })

  test('counts a change as everything that it is', async () => {
    const own = await openTestService({ env: { APPROVALS: 'client-credentials' } })
    const { clientId } = await makeClient(own, 'client', ['pin.reveal'])
    const body = { jwks: newJwks(), scopes: ['pin.reveal', 'pin.write'] }
    const asked = await callAs(own, sue, 'PATCH', `/clients/${clientId}`, { body })
    assert.deepEqual([asked.status, asked.body.kind], [202, 'client-credentials'])
  })

  test('ends a request for other credentials where the client has others by then', async () => {
    const { clientId } = await makeClient(service, 'client', ['pin.reveal'])
    const path = `/clients/${clientId}`
    const first = await callAs(service, sue, 'PATCH', path, { body: { jwks: newJwks() } })
    const second = await callAs(service, sue, 'PATCH', path, { body: { jwks: newJwks() } })
    assert.equal((await approve(second.body)).state, 'done')
    const { approvalId, payloadHash } = first.body
    const late = await callAs(service, sol, 'POST', `/approvals/${approvalId}/approve`, {
      body: { payloadHash },
    })
    assert.deepEqual([late.status, late.body.code], [409, 'approval_stale'])
  })

  test('registers a network once another person has approved it, with keys in place of a secret', async () => {
    const network = { clientId: 'network-9', clientName: 'A network' }
    const bare = await callAs(service, sue, 'POST', '/zones', { body: network })
    assert.deepEqual([bare.status, bare.body.errors?.[0].pointer], [422, '/jwks'])
    const body = { ...network, jwks: newJwks() }
    const asked = await callAs(service, sue, 'POST', '/zones', { body })
    assert.deepEqual([asked.status, asked.body.kind], [202, 'network'])
    assert.deepEqual([(await approve(asked.body)).outcomeStatus], [201])
    const also = { ...body, clientId: 'network-10', kind: 'network', scopes: [] }
    assert.equal((await callAs(service, sue, 'POST', '/clients', { body: also })).status, 202)
  })
})
