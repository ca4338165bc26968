import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { makeAuthority } from '../../support/certificates.ts'
import {
  after,
  cut,
  type DecisionBehaviour,
  hang,
  isDecisionSigned,
  openDecisionEndpoint,
  raw,
  text,
} from '../../support/decision-endpoint.ts'
import { openTestService, sql, type TestService } from '../../support/service.ts'
import { activate, answerPing, findEndpoint, setEndpoint } from './endpoint-service.ts'

const service = await openTestService()

const refused = async (
  answer: DecisionBehaviour,
  settings: object = {},
): Promise<{ code: string; detail: string }> => {
  const endpoint = await openDecisionEndpoint(answer)
  await setEndpoint(service, { url: endpoint.url, ...settings })
  const before = await findEndpoint(service)
  const answered = await activate(service)
  assert.equal(answered.status, 422, answered.text)
  assert.deepEqual((await findEndpoint(service)).json, before.json)
  await endpoint.close()
  return { code: answered.json.code, detail: answered.json.detail }
}

const failed = (detail: string) => ({ code: 'decision_ping_failed', detail })

test('a draft is put in force after its endpoint answered a signed ping', async () => {
  const endpoint = await openDecisionEndpoint(answerPing)
  const registered = await setEndpoint(service, { url: endpoint.url })
  assert.equal(registered.status, 200, registered.text)
  assert.equal(registered.json.draft.url, endpoint.url)
  assert.equal(registered.json.enforced, null)
  assert.equal(endpoint.received.length, 0)
  const { secret } = registered.json
  assert.match(secret, /^whsec_/)

  const activated = await activate(service)
  assert.equal(activated.status, 200, activated.text)
  assert.deepEqual(activated.json.enforced, registered.json.draft)
  assert.equal(activated.json.draft, null)
  assert.equal(activated.json.secret, undefined)
  const [ping] = endpoint.received
  assert(ping)
  assert.equal(endpoint.received.length, 1)
  assert.deepEqual(Object.keys(ping.body), ['type', 'challenge'])
  assert.equal(ping.body.type, 'decision.ping')
  assert(isDecisionSigned(secret, ping))
  assert.equal(ping.headers['api-version'], '2026-11-20')
})

test('an activation names the version, who activated it and when in the audit log', async () => {
  const [act] = await sql<{ client_id: string; details: string; subject: string }>(
    service.database,
    `select client_id, subject, details from audit_act where act = 'decision_endpoint.activated'`,
  )
  assert.equal(act?.client_id, 'demo-client')
  assert.equal(act.subject, 'demo-client')
  const { host, ...details } = JSON.parse(act.details)
  assert.match(host, /^127\.0\.0\.1:/)
  assert.deepEqual(details, {
    version: 1,
    mode: 'enforce',
    sample: 100,
    onTimeout: 'decline',
    onError: 'decline',
  })
})

test('a ping that is not answered correctly is refused with what was wrong', async () => {
  assert.deepEqual(
    await refused(() => ({ challenge: 'another' })),
    failed('The answer must be {"challenge": …} with the value of the ping.'),
  )
  assert.deepEqual(
    await refused(() => ({ decision: 'approve' })),
    failed('The answer must be {"challenge": …} with the value of the ping.'),
  )
  assert.deepEqual(
    await refused(() => 401),
    failed(
      'The endpoint answered with the status 401 instead of 200. If it refused the signature, ' +
        'check that it uses the present key.',
    ),
  )
  assert.deepEqual(
    await refused(() => 500),
    failed('The endpoint answered with the status 500 instead of 200.'),
  )
  assert.deepEqual(
    await refused(() => 204),
    failed('The endpoint answered with the status 204 instead of 200.'),
  )
  assert.deepEqual(
    await refused(text('not JSON')),
    failed('The body of the answer is not a JSON object.'),
  )
  assert.deepEqual(
    await refused(text(`{"challenge":"${'x'.repeat(20_000)}"}`)),
    failed('The body of the answer exceeds 16384 bytes.'),
  )
})

test('an error page of any length is reported by its status', async () => {
  const page: DecisionBehaviour = (_, response) => {
    response.writeHead(404, { 'content-type': 'text/html' }).end('x'.repeat(20_000))
    return undefined
  }
  assert.deepEqual(
    await refused(page),
    failed('The endpoint answered with the status 404 instead of 200.'),
  )
})

test('an endpoint that answers too late or never is refused', async () => {
  const late = failed('The endpoint did not answer within 150 ms.')
  assert.deepEqual(await refused(hang, { timeoutMs: 150 }), late)
  assert.deepEqual(await refused(after(400, answerPing), { timeoutMs: 150 }), late)
})

test('a redirect is refused, and not followed', async () => {
  const other = await openDecisionEndpoint(answerPing)
  const redirect: DecisionBehaviour = (_, response) => {
    response.writeHead(307, { location: other.url }).end()
    return undefined
  }
  assert.deepEqual(
    await refused(redirect),
    failed('The endpoint answered with the status 307. Redirects are not followed.'),
  )
  assert.equal(other.received.length, 0)
})

test('an endpoint without a connection or an HTTP answer is refused', async () => {
  const closed = await openDecisionEndpoint(answerPing)
  await closed.close()
  await setEndpoint(service, { url: closed.url })
  const answered = await activate(service)
  assert.equal(answered.json.detail, 'The endpoint refused the connection.')
  assert.deepEqual(
    await refused(cut),
    failed('The connection to the endpoint failed (ECONNRESET).'),
  )
  const garbled = await refused(raw('this is not HTTP\r\n\r\n', (socket) => socket.end()))
  assert.match(garbled.detail, /^The connection to the endpoint failed \(HPE_/)
})

test('an endpoint whose certificate is not trusted is refused', async (t) => {
  const authority = await makeAuthority()
  const server = createTlsServer(await authority.issue('localhost'))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  await setEndpoint(service, { url: `https://localhost:${port}/decide` })
  const answered = await activate(service)
  assert.equal(answered.status, 422)
  assert.match(answered.json.detail, /^TLS with the endpoint failed \([A-Z_]+\)\.$/)
})

test('a repeat of an activation gets the first answer, without another ping', async () => {
  const endpoint = await openDecisionEndpoint(answerPing)
  await setEndpoint(service, { url: endpoint.url })
  const headers = { 'idempotency-key': randomUUID() }
  const first = await activate(service, '', { headers })
  const again = await activate(service, '', { headers })
  assert.equal(first.status, 200, first.text)
  assert.deepEqual(again.json, first.json)
  assert.equal(again.headers['idempotency-replayed'], 'true')
  assert.equal(endpoint.received.length, 1)
  const other = await activate(service, '?productId=1001', { headers })
  assert.equal(other.json.code, 'idempotency_key_reused')
})

test('a draft that changed while it was pinged is not put in force', async () => {
  const endpoint: Awaited<ReturnType<typeof openDecisionEndpoint>> = await openDecisionEndpoint(
    async (received) => {
      await setEndpoint(service, { url: endpoint.url, timeoutMs: 2_000 })
      return answerPing(received)
    },
  )
  await setEndpoint(service, { url: endpoint.url, timeoutMs: 2_400 })
  const answered = await activate(service)
  assert.equal(answered.status, 409)
  assert.equal(answered.json.code, 'decision_version_conflict')
  assert.equal(answered.json.detail, 'The draft has changed while it was pinged.')
})

test('without a draft nothing is pinged and nothing is put in force', async () => {
  const fresh = await openTestService()
  assert.equal((await activate(fresh)).json.code, 'not_found')
  await assertNoDraft(fresh)
})

const assertNoDraft = async (fresh: TestService): Promise<void> => {
  const endpoint = await openDecisionEndpoint(answerPing)
  await setEndpoint(fresh, { url: endpoint.url })
  await activate(fresh)
  const again = await activate(fresh)
  assert.equal(again.status, 409)
  assert.equal(again.json.detail, 'The endpoint has no draft. Register the settings first (PUT).')
  assert.equal(endpoint.received.length, 1)
}

test('an endpoint without a URL is put in force while the client has an open stream', async () => {
  const fresh = await openTestService()
  await setEndpoint(fresh, {})
  const refused = await activate(fresh)
  assert.equal(refused.status, 422)
  assert.equal(
    refused.json.detail,
    'The client has no open stream. Start pinfold decisions listen --exec FILE, or register a URL.',
  )
  const lease = (seconds: number) =>
    sql(
      fresh.database,
      `insert into client_stream (client_id, scope, slot, holder, leased_until)
      values ('demo-client', 'decisions.write', 1, $1::uuid, now() + make_interval(secs => $2))
      on conflict (client_id, scope, slot) do update set leased_until = excluded.leased_until
      returning slot`,
      [randomUUID(), seconds],
    )
  await lease(-1)
  assert.equal((await activate(fresh)).status, 422)
  await lease(30)
  const activated = await activate(fresh)
  assert.equal(activated.status, 200, activated.text)
  assert.equal(activated.json.enforced.url, null)
})
