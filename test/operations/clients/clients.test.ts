import assert from 'node:assert/strict'
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { before, suite, test } from 'node:test'
import { openPostgres } from '../../support/postgres.ts'
import {
  type Answer,
  openServerDatabase,
  openTestService,
  sql,
  type TestService,
} from '../../support/service.ts'
import { administerOf, askToken, newAdministrator, rootOf } from './administer.ts'

const postgres = await openPostgres()
let service: TestService
let administer: ReturnType<typeof administerOf>

before(async () => {
  service = await openTestService()
  administer = administerOf(service)
})

const newClient = (members: object = {}) => ({
  clientId: 'acme',
  clientName: 'Acme Bank',
  kind: 'client',
  scopes: ['cards.read', 'cards.write'],
  productIds: [1001],
  ...members,
})

const pointers = ({ json }: Answer): string[] =>
  json.errors.map(({ pointer }: { pointer: string }) => pointer).sort()

const publicJwk = () =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' })

test('a client gets a secret that is shown once, and calls with it', async () => {
  const headers = { 'idempotency-key': randomUUID() }
  const created = await administer('POST', '/clients', newClient(), headers)
  assert.equal(created.status, 201, created.text)
  const { clientSecret, ...record } = created.json
  assert.match(clientSecret, /^[\w-]{43}$/)
  const again = await administer('POST', '/clients', newClient(), headers)
  assert.deepEqual([again.status, again.json], [201, record])
  assert.deepEqual((await administer('GET', '/clients/acme')).json, {
    ...record,
    actorNames: { 'demo-admin': 'Demo operator' },
  })
  const { status, token } = await askToken(service, 'acme', clientSecret)
  assert.equal(status, 200)
  const products = await service.call('GET', '/products', { token })
  assert.deepEqual(
    products.json.map(({ productId }: { productId: number }) => productId),
    [1001],
  )
  const { text } = await administer('GET', '/acts')
  const kept = JSON.stringify(await sql(service.database, 'select * from idempotency_record'))
  const rows = JSON.stringify(await sql(service.database, 'select * from client'))
  for (const place of [text, kept, rows]) assert.ok(!place.includes(clientSecret))
})

test('everything that is wrong with a client is told at once', async () => {
  const answer = await administer(
    'POST',
    '/clients',
    newClient({
      clientId: 'demo-client',
      clientName: '4000 0000 0000 0002',
      scopes: ['cards.read', 'admin', 'nothing'],
      productIds: [1001, 7, 8],
      jwks: { kty: 'oct' },
    }),
  )
  assert.deepEqual(pointers(answer), [
    '/clientId',
    '/clientName',
    '/jwks',
    '/productIds/1',
    '/productIds/2',
    '/scopes/1',
    '/scopes/2',
  ])
  const network = newClient({ clientId: 'net', kind: 'network', scopes: ['admin'] })
  assert.deepEqual(pointers(await administer('POST', '/clients', network)), [
    '/productIds',
    '/scopes/0',
  ])
})

test('tokens cannot be bound to certificates that no listener asks for, or nobody could use them', async () => {
  const bound = { certificateBoundTokens: true }
  const created = await administer('POST', '/clients', newClient({ clientId: 'binding', ...bound }))
  assert.deepEqual(pointers(created), ['/certificateBoundTokens'])
  const changed = await administer('PATCH', '/clients/demo-admin', bound)
  assert.deepEqual(pointers(changed), ['/certificateBoundTokens', '/certificateBoundTokens'])
  assert.equal((await administer('GET', '/clients/demo-admin')).json.certificateBoundTokens, false)
})

test('after a rotation the old secret is taken until its time is over, and the new one at once', async () => {
  const { json } = await administer('POST', '/clients', newClient({ clientId: 'rotating' }))
  const rotate = (body?: object) => administer('POST', '/clients/rotating/rotate-secret', body)
  const first = await rotate({ overlapHours: 2 })
  assert.equal(first.status, 200, first.text)
  const statuses = async (...secrets: string[]) => {
    const answers = []
    for (const secret of secrets) answers.push(await askToken(service, 'rotating', secret))
    return answers.map(({ status }) => status)
  }
  const { clientSecret } = first.json
  assert.deepEqual(await statuses(json.clientSecret, clientSecret, 'x'), [200, 200, 401])
  await sql(
    service.database,
    `update client set previous_secret_until = now() - interval '1 second' where client_id = $1`,
    ['rotating'],
  )
  assert.deepEqual(await statuses(json.clientSecret, clientSecret), [401, 200])
  assert.equal((await administer('GET', '/clients/rotating')).json.previousSecretUntil, null)
  const last = await rotate({ overlapHours: 0 })
  assert.equal(last.json.previousSecretUntil, null)
  assert.deepEqual(await statuses(clientSecret, last.json.clientSecret), [401, 200])
  const within = Date.parse((await rotate()).json.previousSecretUntil) - Date.now()
  assert.ok(within > 23 * 3_600_000 && within <= 24 * 3_600_000, 'a day unless it is said')
})

test('a repeat of a rotation neither rotates again nor shows the secret', async () => {
  const headers = { 'idempotency-key': randomUUID() }
  await administer('POST', '/clients', newClient({ clientId: 'repeated' }))
  const path = '/clients/repeated/rotate-secret'
  const first = await administer('POST', path, undefined, headers)
  const again = await administer('POST', path, undefined, headers)
  const { clientSecret, ...rest } = first.json
  assert.deepEqual([again.status, again.json], [200, rest])
  assert.equal((await askToken(service, 'repeated', clientSecret)).status, 200)
})

test('a client with keys has no secret, and one that is given keys loses its own', async () => {
  const keyed = newClient({ clientId: 'keyed', jwks: publicJwk() })
  const created = await administer('POST', '/clients', keyed)
  assert.equal(created.json.clientSecret, undefined)
  assert.equal(created.json.authentication, 'private_key_jwt')
  const refused = await administer('POST', '/clients/keyed/rotate-secret')
  assert.equal(refused.json.code, 'validation_failed')
  const { json } = await administer('POST', '/clients', newClient({ clientId: 'moving' }))
  const moved = await administer('PATCH', '/clients/moving', { jwks: { keys: [publicJwk()] } })
  assert.deepEqual([moved.status, moved.json.authentication], [200, 'private_key_jwt'])
  assert.equal((await askToken(service, 'moving', json.clientSecret)).status, 401)
})

test('a disabled client gets no token, nor do the scopes that were taken away', async () => {
  const { json } = await administer('POST', '/clients', newClient({ clientId: 'leaving' }))
  const changed = await administer('PATCH', '/clients/leaving', { scopes: ['cards.read'] })
  assert.deepEqual(changed.json.scopes, ['cards.read'])
  const { token } = await askToken(service, 'leaving', json.clientSecret)
  const refused = await service.call('POST', '/cards', { token, body: {} })
  assert.equal(refused.json.code, 'insufficient_scope')
  await administer('PATCH', '/clients/leaving', { active: false })
  assert.equal((await askToken(service, 'leaving', json.clientSecret)).status, 401)
  await administer('PATCH', '/clients/leaving', { active: true })
  assert.equal((await askToken(service, 'leaving', json.clientSecret)).status, 200)
})

test('a product is granted and revoked one at a time, each on record once', async () => {
  await administer('POST', '/clients', newClient({ clientId: 'granted' }))
  const path = '/clients/granted/products/1002'
  for (const method of ['PUT', 'PUT', 'DELETE', 'DELETE', 'PUT']) {
    assert.equal((await administer(method, path)).status, 204)
  }
  assert.deepEqual((await administer('GET', '/clients/granted')).json.productIds, [1001, 1002])
  const { json } = await administer('GET', '/acts')
  const acts = json.filter(({ subject }: { subject: string }) => subject === 'granted')
  assert.deepEqual(
    acts.map(({ act }: { act: string }) => act),
    ['product granted', 'product revoked', 'product granted', 'created'],
  )
  for (const other of ['granted/products/7', 'demo-network/products/1001', 'x/products/1001']) {
    assert.equal((await administer('PUT', `/clients/${other}`)).status, 404)
  }
})

test('the last administrator cannot be shut out', async () => {
  const own = '/clients/demo-admin'
  for (const change of [{ active: false }, { scopes: [] }]) {
    const answer = await administer('PATCH', own, change)
    assert.deepEqual([answer.status, answer.json.errors[0].pointer], [422, ''])
  }
  assert.equal((await administer('GET', own)).json.active, true)
  const other = { clientId: 'second-admin', clientName: 'Second', kind: 'admin', scopes: ['admin'] }
  assert.equal((await administer('POST', '/clients', other)).status, 201)
  assert.equal((await administer('PATCH', own, { clientName: 'First' })).status, 200)
})

test('none but administrators administer', async () => {
  for (const as of ['network', 'client'] as const) {
    for (const path of ['//products', '//clients', '//zones', '//acts']) {
      const answer = await service.call('GET', path, { as, listener: 'private' })
      assert.ok([401, 403].includes(answer.status), `${as} ${path}`)
    }
  }
})

test('a zone is a network with its keys; retired, it is neither let in nor are its keys of use', async () => {
  const created = await administer('POST', '/zones', { clientId: 'net-1', clientName: 'Net One' })
  assert.equal(created.status, 201, created.text)
  const formats = { pinBlockFormats: ['ISO_FORMAT_0'] }
  const key = { family: 'zone', key: 'zone-2026', clientId: 'net-1', ...formats }
  assert.equal((await administer('POST', '/keys', key)).status, 201)
  const zones = (await administer('GET', '/zones')).json
  const zone = zones.find(({ clientId }: { clientId: string }) => clientId === 'net-1')
  assert.deepEqual([zone.keys.length, zone.keys[0].key], [1, 'zone-2026'])
  assert.equal((await askToken(service, 'net-1', created.json.clientSecret)).status, 200)
  const retired = await administer('POST', '/zones/net-1/retire')
  assert.equal(retired.json.active, false)
  assert.ok(retired.json.keys[0].retiredAt)
  const acts = await administer('GET', '/keys/acts')
  const [last] = acts.json
  assert.deepEqual(
    [last.key, last.act, last.clientId],
    ['net-1/zone-2026', 'retired', 'demo-admin'],
    'the end of its key is among the acts on keys, too',
  )
  assert.equal((await askToken(service, 'net-1', created.json.clientSecret)).status, 401)
  assert.equal((await administer('POST', '/zones/demo-client/retire')).status, 404)
})

test('what can be no client’s id names none, whatever is asked of it', async () => {
  for (const id of ['%00', '%20', '%C3%A9', 'x'.repeat(65)]) {
    for (const [method, path, body] of [
      ['GET', `/clients/${id}`],
      ['PATCH', `/clients/${id}`, { clientName: 'None' }],
      ['POST', `/clients/${id}/rotate-secret`],
      ['PUT', `/clients/${id}/products/1001`],
      ['DELETE', `/clients/${id}/products/1001`],
      ['POST', `/zones/${id}/retire`],
    ] as const) {
      const { status, text } = await administer(method, path, body)
      assert.equal(status, 404, `${method} ${path}: ${text}`)
    }
  }
})

test('clients are listed by their ids, page by page', async () => {
  const whole = (await administer('GET', '/clients')).json
  const ids = whole.map(({ clientId }: { clientId: string }) => clientId)
  const seen: string[] = []
  let next: string | undefined = '/clients?limit=3'
  while (next) {
    const page: Answer = await administer('GET', next)
    seen.push(...page.json.map(({ clientId }: { clientId: string }) => clientId))
    next = /<([^>]+)>/.exec(String(page.headers.link ?? ''))?.[1]
  }
  assert.deepEqual(seen, ids)
  assert.ok(!JSON.stringify(whole).toLowerCase().includes('secrethash'))
})

suite('on a PostgreSQL server', { skip: postgres.leftOut }, () => {
  test('credentials that change while they are confirmed are not confirmed, whichever comes first', async () => {
    const { database } = await openServerDatabase(postgres)
    const service = await openTestService({ database, env: { RATE_LIMIT: 'off' } })
    const maker = await rootOf(service, 'maker')
    const witness = await rootOf(service, 'witness')
    for (let round = 0; round < 15; round += 1) {
      const clientId = `one-${round}`
      await maker.call('POST', '/clients', newAdministrator(clientId))
      const confirm = () =>
        witness.call('POST', `/clients/${clientId}/confirm`, { credentialsVersion: 1 })
      const rotate = () => maker.call('POST', `/clients/${clientId}/rotate-secret`)
      const [one, other] = round % 2 === 0 ? [confirm, rotate] : [rotate, confirm]
      const answers = await Promise.all([one(), other()])
      for (const { status, text } of answers) assert.ok(status === 200 || status === 422, text)
      const { json } = await maker.call('GET', `/clients/${clientId}`)
      assert.deepEqual([json.confirmedBy, json.controlledBy], [[], ['maker']])
    }
  })
})
