import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, type TestContext, test } from 'node:test'
import { setImmediate as settle, setTimeout as sleep } from 'node:timers/promises'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { tokenAttempts } from '../../../src/listeners/http/token-attempts.ts'
import type { TokenAttempt } from '../../../src/listeners/oauth/token-endpoint.ts'
import type { Database } from '../../../src/storage/engine/database.ts'
import { client } from '../../support/builders.ts'
import { openEmbedded, openTestService, type TestService } from '../../support/service.ts'

/** Refilled so slowly that no machine is slow enough to see it. */
const narrow = { TOKEN_RATE_PER_SECOND: '1', TOKEN_RATE_BURST: '10' }

let service: TestService
let right: { client_id: string; client_secret: string }

before(async () => {
  service = await openTestService({ env: narrow })
  right = rightSecretOf(service)
})

const rightSecretOf = ({ sandbox }: TestService) => ({
  client_id: sandbox?.clientId ?? '',
  client_secret: sandbox?.clientSecret ?? '',
})

let addresses = 0
/** An address that nobody called from yet. */
const newAddress = (): string => {
  addresses += 1
  return `198.51.100.${addresses}`
}

const ask = async (
  remoteAddress: string,
  form: Readonly<Record<string, string>>,
  of: TestService = service,
) => {
  const {
    headers,
    payload,
    statusCode: status,
  } = await of.publicServer.inject({
    method: 'POST',
    url: '/oauth/token',
    remoteAddress,
    headers: { host: '127.0.0.1:8080', 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams({ grant_type: 'client_credentials', ...form }).toString(),
  })
  return { status, headers, json: JSON.parse(payload) }
}

const wrong = (clientId = right.client_id) => ({ client_id: clientId, client_secret: 'wrong' })

/** Whoever was refused stays so, however long the machine takes. */
const holdRefill = ({ mock }: TestContext): void => {
  const nowMs = performance.now()
  mock.method(performance, 'now', () => nowMs)
}

/** Asks until the answer is 429; a slow machine gets more answers of the other status before it. */
const untilRefused = async (
  asking: (time: number) => ReturnType<typeof ask>,
  otherwise: number,
): Promise<Awaited<ReturnType<typeof ask>> & { time: number }> => {
  for (let time = 1; time <= 250; time += 1) {
    const answer = await asking(time)
    if (answer.status === 429) return { ...answer, time }
    assert.equal(answer.status, otherwise)
  }
  return assert.fail('It was never refused.')
}

test('guesses at the secret of a client take nothing from the limits of that client', async () => {
  const client = rightSecretOf(await openTestService({ env: narrow }))
  const [stranger, own] = [newAddress(), newAddress()]
  await untilRefused(() => ask(stranger, wrong(client.client_id)), 401)
  const statuses = []
  for (let time = 0; time < 9; time += 1) {
    await ask(stranger, wrong())
    statuses.push((await ask(own, right)).status)
  }
  assert.deepEqual(statuses, Array(9).fill(200))
  await untilRefused(() => ask(own, right), 200)
})

test('an address that has failed too often gets 429 for a wrong secret, and a token for a right one', async (t) => {
  holdRefill(t)
  const address = newAddress()
  const clientId = 'keyed'
  const { privateKey, publicKey } = await generateKeyPair('ES256')
  await client(service.database, {
    clientId,
    jwks: JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), use: 'sig' }] }),
  })
  const assertion = async (key: typeof privateKey) => ({
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: await new SignJWT({ jti: randomUUID() })
      .setProtectedHeader({ alg: 'ES256' })
      .setIssuer(clientId)
      .setSubject(clientId)
      .setAudience('http://127.0.0.1:8080')
      .setIssuedAt()
      .setExpirationTime('1m')
      .sign(key),
  })
  const { otherClient } = service.sandbox ?? {}
  const other = {
    client_id: otherClient?.clientId ?? '',
    client_secret: otherClient?.clientSecret ?? '',
  }
  const { privateKey: strange } = await generateKeyPair('ES256')
  for (const clientGuessedAt of [other.client_id, clientId]) {
    await untilRefused(() => ask(address, wrong(clientGuessedAt)), 401)
  }
  for (let time = 0; time < 3; time += 1) {
    assert.equal((await ask(address, wrong(other.client_id))).status, 429)
    assert.equal((await ask(address, await assertion(strange))).status, 429)
    assert.equal((await ask(address, other)).status, 200)
    assert.equal((await ask(address, await assertion(privateKey))).status, 200)
  }
})

test('a token more than its rate is 429 for a client from wherever it asks, and for no other client', async () => {
  const { otherClient } = service.sandbox ?? {}
  const own = newAddress()
  const { headers, json, time } = await untilRefused(
    (each) =>
      ask(each % 2 ? own : newAddress(), {
        client_id: otherClient?.clientId ?? '',
        client_secret: otherClient?.clientSecret ?? '',
      }),
    200,
  )
  assert.ok(time > 4, `${time}`)
  assert.ok(Number(headers['retry-after']) >= 1)
  assert.match(String(headers.ratelimit), /^"calls";r=0;t=\d+$/)
  assert.equal(json.error, 'temporarily_unavailable')
  const fresh = await openTestService({ env: narrow })
  const first = await ask(own, rightSecretOf(fresh), fresh)
  assert.deepEqual([first.status, first.headers.ratelimit], [200, '"calls";r=9;t=1'])
})

test('an address that guesses is refused whatever clients it names, and the networks of others are not', async (t) => {
  holdRefill(t)
  const { time } = await untilRefused(
    (each) => ask('2001:db8:1:2::1', wrong(`client-${each}`)),
    401,
  )
  assert.ok(time > 10)
  assert.equal((await ask('2001:db8:1:2:ffff::9', wrong('next'))).status, 429)
  assert.equal((await ask('2001:db8:1:3::1', wrong('next'))).status, 401)
})

test('neither 401 nor 429 tells whether there is such a client, or what others have asked for', async () => {
  const answersFor = async (clientId: string) => {
    const address = newAddress()
    const refused = await ask(address, wrong(clientId))
    const limited = await untilRefused(() => ask(address, wrong(clientId)), 401)
    return [refused, limited].map(({ headers, json, status }) => {
      // These differ from time to time, whoever asks.
      const ofTime = { 'x-request-id': '', date: '', 'retry-after': '' }
      const ratelimit = String(headers.ratelimit).replace(/\d+/g, 'n')
      return { status, json, headers: { ...headers, ...ofTime, ratelimit } }
    })
  }
  const known = await answersFor(right.client_id)
  assert.deepEqual(await answersFor('nobody'), known)
  assert.deepEqual(
    known.map(({ json, status }) => [status, json.error]),
    [
      [401, 'invalid_client'],
      [429, 'temporarily_unavailable'],
    ],
  )
})

test('a failed authentication says how many failures are left', async () => {
  const { headers, status } = await ask(newAddress(), wrong())
  assert.equal(status, 401)
  assert.equal(headers.ratelimit, '"client-failures";r=9;t=1, "address-failures";r=9;t=1')
  const policy = '"client-failures";q=10;w=10, "address-failures";q=10;w=10'
  assert.equal(headers['ratelimit-policy'], policy)
})

test('a flood of wrong secrets keeps no client behind its address from its token', async () => {
  const looking = { now: 0, most: 0, all: 0, eachMs: 1 }
  const slow = watchingLookUps(await openEmbedded(), looking)
  const flooded = await openTestService({ env: narrow, database: slow })
  const client = rightSecretOf(flooded)
  const address = newAddress()
  const flood = (requests: number) =>
    Array.from({ length: requests }, () => ask(address, wrong(client.client_id), flooded))
  const statusesOf = async (asked: ReturnType<typeof flood>) =>
    new Set((await Promise.all(asked)).map(({ status }) => status))
  assert.deepEqual(await statusesOf(flood(60)), new Set([401, 429]))
  assert.ok(looking.most > 2 && looking.most <= 8, `${looking.most} look-ups at once`)
  await untilRefused(() => ask(address, wrong(client.client_id), flooded), 401)
  looking.most = 0
  const guesses = flood(60)
  assert.equal((await ask(address, client, flooded)).status, 200)
  assert.ok((await statusesOf(guesses)).has(429))
  // Two, and as many more as seconds went by on a machine that is busy.
  assert.ok(looking.most < 8, `${looking.most} look-ups at once`)
  // Far more than may wait: those are refused at once, and nothing is looked up for them. Some wait
  // their turn meanwhile: few, where a look-up takes longer than a busy machine takes to send the
  // next request.
  looking.eachMs = 50
  const looked = looking.all
  assert.ok((await statusesOf(flood(800))).has(429))
  assert.ok(looking.all - looked < 700, `${looking.all - looked} look-ups`)
})

/** Notes how many look-ups of a client run at once, each a little longer than it would. */
const watchingLookUps = (
  database: Database,
  looking: { now: number; most: number; all: number; eachMs: number },
): Database => ({
  ...database,
  async query(statement, values) {
    if (statement.name !== 'find_client') return database.query(statement, values)
    looking.all += 1
    looking.now += 1
    looking.most = Math.max(looking.most, looking.now)
    await sleep(looking.eachMs)
    return database.query<never>(statement, values).finally(() => {
      looking.now -= 1
    })
  },
})

const refusals: readonly {
  title: string
  status: number
  error: string
  method?: 'GET' | 'POST'
  headers?: Readonly<Record<string, string>>
  payload?: string
}[] = [
  {
    title: 'a body that is too long',
    status: 413,
    error: 'invalid_request',
    payload: 'x'.repeat(70_000),
  },
  {
    title: 'no media type',
    status: 415,
    error: 'invalid_request',
    headers: { 'content-type': 'a' },
  },
  {
    title: 'another version',
    status: 400,
    error: 'invalid_request',
    headers: { 'api-version': '2020-01-01' },
  },
  {
    title: 'a URL that is too long',
    status: 400,
    error: 'invalid_request',
    headers: { 'x-long-url': '1' },
  },
  { title: 'another host', status: 421, error: 'invalid_request', headers: { host: 'evil.test' } },
  { title: 'another method', status: 405, error: 'invalid_request', method: 'GET', payload: '' },
]

for (const { error, headers = {}, method = 'POST', payload = 'a=b', status, title } of refusals) {
  test(`the token endpoint refuses ${title} in the form of RFC 6749`, async () => {
    const answer = await service.publicServer.inject({
      method,
      url: `/oauth/token${headers['x-long-url'] ? `?${'x'.repeat(2_100)}` : ''}`,
      remoteAddress: newAddress(),
      headers: {
        host: '127.0.0.1:8080',
        'content-type': 'application/x-www-form-urlencoded',
        ...headers,
      },
      ...(payload && { payload }),
    })
    assert.equal(answer.statusCode, status, answer.payload)
    assert.match(String(answer.headers['content-type']), /^application\/json\b/)
    assert.equal(answer.headers['cache-control'], 'no-store')
    const json = answer.json()
    assert.equal(json.error, error)
    assert.match(json.error_description, /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/)
  })
}

test('a flood that names one client takes no turns of the other clients of its address', async () => {
  const slow = { perSecond: 0.001, burst: 10 }
  const attempts = tokenAttempts({ client: slow, address: { ...slow, burst: 1 } })
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const from = { address: newAddress(), gone: new AbortController().signal }
  const begun: string[] = []
  const verify = (clientId: string, work: (attempt: TokenAttempt) => Promise<void>) =>
    attempts.verify({ ...from, clientId }, (attempt) => {
      begun.push(clientId)
      return work(attempt)
    })
  await verify('guessed-at', async (attempt) => void attempt.failed())
  // The failures of the address are used up, those of the one that it guesses at are not yet.
  const flood = [1, 2, 3].map(() => verify('guessed-at', () => released))
  const other = verify('another', async () => {})
  await settle()
  assert.deepEqual(begun, ['guessed-at', 'guessed-at', 'guessed-at', 'another'])
  release()
  await Promise.all([...flood, other])
})
