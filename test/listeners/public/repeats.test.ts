import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { wrapKeyBlock } from '../../../src/crypto/key-block.ts'
import { xor } from '../../../src/crypto/refusal.ts'
import { computeKeyCheckValue } from '../../../src/hsm/keys/key-check.ts'
import { composeHeader } from '../../../src/hsm/keys/key-purposes.ts'
import { publishBatch } from '../../../src/operations/events/publish.ts'
import { newProduct } from '../../operations/clients/administer.ts'
import { answerPing, putInForce, setEndpoint } from '../../operations/decisions/endpoint-service.ts'
import { enterAll } from '../../support/audit.ts'
import { activateKey, client } from '../../support/builders.ts'
import { openDecisionEndpoint } from '../../support/decision-endpoint.ts'
import { openWithRoutes, type Route } from '../../support/routes.ts'
import {
  type Answer,
  type CallOptions,
  newCard,
  openTestService,
  sql,
  strongPins,
  type TestService,
} from '../../support/service.ts'

let service: TestService
let routes: readonly Route[]

before(async () => {
  const made = await openWithRoutes(() => openTestService({ env: { RATE_LIMIT: 'off' } }))
  service = made.service
  routes = made.routes
})

const base = '/thr/processor'

/** A DELETE without a key deletes once by itself: a repeat finds nothing there. */
const changes = (): Route[] =>
  routes.filter(
    ({ config, method }) =>
      ['POST', 'PUT', 'PATCH'].includes(method) || (method === 'DELETE' && config?.repeatable),
  )

/** What waits for another person: test/operations/approvals repeats it as a person. */
const isPersons = ({ url }: Route): boolean => url.startsWith('/approvals/')

/** Where a key has no effect, and why is said in the route. */
const notRepeatable = [
  'POST /cards/search',
  'POST /component-entries/:entryId/components',
  'POST /demo',
  'POST /demo/*',
  'POST /network/advices',
  'POST /network/clearings',
  'POST /network/reversals',
  'POST /oauth/token',
  'POST /people/:personId/sign-out',
  'POST /products/:productId/controls/back-test',
  'POST /sandbox/settle',
  'POST /sandbox/snapshots/:snapshotName/restore',
  `POST ${base}/cards/:publicToken/controls/back-test`,
  `POST ${base}/cards/:publicToken/controls/explain`,
  `POST ${base}/cards/:publicToken/encrypted`,
  `POST ${base}/decisions/:decisionId/answer`,
  `POST ${base}/decisions/:decisionId/replay`,
  `POST ${base}/simulator/advices`,
  `POST ${base}/simulator/cards/:publicToken/chip`,
  `POST ${base}/simulator/cards/:publicToken/chip/answers`,
  `POST ${base}/simulator/cards/:publicToken/chip/transactions`,
  `POST ${base}/simulator/clearings`,
  `POST ${base}/simulator/refunds`,
  `POST ${base}/simulator/reversals`,
  'PUT /sandbox/snapshots/:snapshotName',
]

const nameOf = ({ method, url }: Route): string => `${method} ${url}`

/** A form has its key in itself, and hands it on: test/console sends some twice. */
const isForm = ({ url }: Route): boolean => url.startsWith('/console/')

test('every POST, PUT and PATCH takes an idempotency key, or is listed with its reason', () => {
  const without = changes().filter(({ config }) => !config?.repeatable)
  const others = without.filter((route) => !isForm(route))
  assert.deepEqual(others.map(nameOf).sort(), notRepeatable)
  for (const route of without) assert.ok(route.config?.notRepeatable, nameOf(route))
  const both = changes().filter(({ config }) => config?.repeatable && config.notRepeatable)
  assert.deepEqual(both, [])
})

test('what is no key is refused on every change, of either listener, repeatable or not', async () => {
  for (const { config, listener, method, url } of changes()) {
    const path = `/${url.replaceAll(/:\w+/g, '1').replace('*', 'x')}`
    const operator = config?.access === 'approve' ? 'approver' : 'admin'
    const as = listener === 'public' ? 'client' : url.startsWith('/network') ? 'network' : operator
    const given = { as, listener, body: {}, headers: { 'idempotency-key': 'a b' } } as const
    const { json, status } = await service.call(method, path, given)
    if (url.startsWith('/console')) {
      // In a page.
      assert.equal(status, 400, url)
      continue
    }
    // The token endpoint answers in its own terms (RFC 6749, section 5.2).
    const code = url === '/oauth/token' ? json.error : json.code
    const refused = url === '/oauth/token' ? 'invalid_request' : 'malformed_request'
    assert.deepEqual([status, code], [400, refused], `${method} ${url}`)
  }
})

type Sample = { path: string; body?: object; as?: CallOptions['as'] }

const administer = (method: string, path: string, body?: object): Promise<Answer> =>
  service.call(method, `/${path}`, { as: 'admin', listener: 'private', ...(body && { body }) })

const clientCalled = (clientId: string, kind = 'client') => ({
  clientId,
  clientName: clientId,
  kind,
  scopes: kind === 'admin' ? ['admin'] : [],
})

/** A zone master key that two people brought. @returns it in clear. */
const bringZoneMasterKey = async (key: string) => {
  const parts = [randomBytes(32), randomBytes(32)] as const
  const value = xor(...parts)
  const keyCheckValue = computeKeyCheckValue('A', value)
  const { json } = await administer('POST', '/component-entries', entryOf(key, keyCheckValue))
  for (const [at, part] of parts.entries()) {
    await administer('POST', `/component-entries/${json.entryId}/components`, {
      person: `Person ${at}`,
      component: part.toString('hex'),
      keyCheckValue: computeKeyCheckValue('A', part),
    })
  }
  return value
}

const entryOf = (key: string, keyCheckValue: string) => ({
  family: 'zone-master',
  key,
  algorithm: 'AES',
  lengthBytes: 32,
  componentCount: 2,
  keyCheckValue,
})

const zoneKey = (key: string) => ({
  family: 'zone',
  clientId: 'demo-network',
  key,
  pinBlockFormats: ['ISO_FORMAT_4'],
})

const createWebhook = async (): Promise<string> => {
  const body = { url: 'https://hooks.example.com/', events: ['*'] }
  const { json, text } = await service.call('POST', '/webhooks', { body })
  assert.ok(json.webhookId, text)
  return json.webhookId
}

/** One request for each repeatable route; what belongs to keys comes before there are cards. */
const samples: Readonly<Record<string, () => Promise<Sample>>> = {
  'POST /keys': async () => ({ path: '//keys', body: { family: 'installation', key: 'pvk' } }),
  'POST /keys/:key/rotate': async () => ({ path: '//keys/cvk/rotate' }),
  'POST /keys/:key/versions/:version/retire': async () => {
    await activateKey(service.database, 'cvk', '2 days')
    await service.keys.hsm.refreshKeys()
    return { path: '//keys/cvk/versions/1/retire' }
  },
  'POST /keys/:key/versions/:version/delete': async () => {
    // Nothing was made under the first version, and its last use is over.
    await sql(
      service.database,
      `update hsm_key set retired_at = now() - interval '1 hour' where retired_at is not null`,
    )
    return { path: '//keys/cvk/versions/1/delete' }
  },
  'POST /keys/import': async () => {
    const zoneMasterKey = await bringZoneMasterKey('zmk-in')
    const header = composeHeader({ keyUsage: 'P0', algorithm: 'A', modeOfUse: 'B' }, 'N')
    const keyBlock = wrapKeyBlock(zoneMasterKey, header, randomBytes(32))
    return {
      path: '//keys/import',
      body: { ...zoneKey('zone-in'), zoneMasterKey: 'zmk-in', keyBlock },
    }
  },
  'POST /keys/export': async () => {
    await bringZoneMasterKey('zmk-out')
    await administer('POST', '/keys', { ...zoneKey('zone-out'), exportable: true })
    const body = { key: 'zone-out', clientId: 'demo-network', zoneMasterKey: 'zmk-out' }
    return { path: '//keys/export', body }
  },
  'POST /keys/zones/retire': async () => {
    await administer('POST', '/keys', zoneKey('zone-old'))
    return { path: '//keys/zones/retire', body: { key: 'zone-old', clientId: 'demo-network' } }
  },
  'POST /component-entries': async () => ({
    path: '//component-entries',
    body: entryOf('zmk-open', 'ABCDEF'),
  }),
  'POST /products': async () => ({ path: '//products', body: newProduct() }),
  'PATCH /products/:productId': async () => ({
    path: '//products/1002',
    body: { renewalGraceMonths: 2 },
  }),
  'POST /clients': async () => ({ path: '//clients', body: clientCalled('acme') }),
  'PATCH /clients/:clientId': async () => {
    await administer('POST', '/clients', clientCalled('changing'))
    return { path: '//clients/changing', body: { clientName: 'Changed' } }
  },
  'POST /clients/:clientId/rotate-secret': async () => {
    await administer('POST', '/clients', clientCalled('rotating'))
    return { path: '//clients/rotating/rotate-secret' }
  },
  'POST /clients/:clientId/confirm': async () => {
    const root = { ...clientCalled('root', 'admin'), kind: 'admin', jwks: null } as const
    await client(service.database, { ...root, secret: 'r' })
    const token = await tokenOf('root', 'r')
    const given = { token, listener: 'private', body: clientCalled('ana', 'admin') } as const
    assert.equal((await service.call('POST', '//clients', given)).status, 201)
    return { path: '//clients/ana/confirm', body: { credentialsVersion: 1 } }
  },
  'PUT /clients/:clientId/products/:productId': async () => {
    await administer('POST', '/clients', clientCalled('granted'))
    return { path: '//clients/granted/products/1001' }
  },
  'DELETE /clients/:clientId/products/:productId': async () => {
    await administer('POST', '/clients', clientCalled('revoked'))
    await administer('PUT', '/clients/revoked/products/1001')
    return { path: '//clients/revoked/products/1001' }
  },
  'POST /zones': async () => ({
    path: '//zones',
    body: { clientId: 'net-one', clientName: 'Net One' },
  }),
  'POST /links': async () => ({
    path: '//links',
    body: {
      linkName: 'link-one',
      networkId: 'demo-network',
      direction: 'listen',
      host: '127.0.0.1',
      port: 1,
      profile: 'sandbox',
    },
  }),
  'PATCH /links/:linkName': async () => ({ path: '//links/link-one', body: { active: false } }),
  'POST /zones/:clientId/retire': async () => {
    await administer('POST', '/zones', { clientId: 'net-old', clientName: 'Net Old' })
    return { path: '//zones/net-old/retire' }
  },
  'POST /cards/:publicToken/cardholder': async () => {
    const { publicToken } = await service.createCard()
    return { path: `//cards/${publicToken}/cardholder` }
  },
  'POST /cards/:publicToken/freeze': async () => ({
    path: `//cards/${(await service.createCard()).publicToken}/freeze`,
    body: { reason: 'It was lost' },
  }),
  'POST /cards/:publicToken/unfreeze': async () => {
    const { publicToken } = await service.createCard()
    await administer('POST', `/cards/${publicToken}/freeze`, { reason: 'It was lost' })
    return { path: `//cards/${publicToken}/unfreeze`, body: { reason: 'It was found' } }
  },
  'POST /cards/:publicToken/pin/unblock': async () => ({
    path: `//cards/${(await service.createCard()).publicToken}/pin/unblock`,
    body: { reason: 'It was forgotten' },
  }),
  'POST /cards/:publicToken/cvv/unblock': async () => ({
    path: `//cards/${(await service.createCard()).publicToken}/cvv/unblock`,
    body: { reason: 'A shop had it wrong' },
  }),
  'POST /cards/:publicToken/activate': async () => ({
    path: `//cards/${(await service.createCard({ activateNow: false })).publicToken}/activate`,
    body: { reason: 'It has arrived' },
  }),
  'POST /cards/:publicToken/renew': async () => {
    const { publicToken } = await service.createCard({ cardType: 'Physical' })
    const body = { reason: 'It is worn', renewStep: 'RenewWithSameExpiry' }
    return { path: `//cards/${publicToken}/renew`, body }
  },
  'POST /cards/:publicToken/cancel-renewal': async () => {
    const { publicToken } = await service.createCard({ cardType: 'Physical' })
    const body = { reason: 'It is worn', renewStep: 'RenewWithSameExpiry' }
    await administer('POST', `/cards/${publicToken}/renew`, body)
    return { path: `//cards/${publicToken}/cancel-renewal`, body: { reason: 'It is not worn' } }
  },
  'POST /cards/:publicToken/delivery-address': async () => ({
    path: `//cards/${(await service.createCard({ cardType: 'Physical' })).publicToken}/delivery-address`,
    body: { reason: 'The holder has moved', fulfilment: null },
  }),
  'POST /cards/:publicToken/convert': async () => ({
    path: `//cards/${(await service.createCard()).publicToken}/convert`,
    body: { reason: 'The holder wants plastic' },
  }),
  'POST /cards/:publicToken/replace': async () => ({
    path: `//cards/${(await service.createCard()).publicToken}/replace`,
    body: { reason: 'It was lost', replacementReason: 'Lost' },
  }),
  'POST /bureau/batches': async () => {
    await service.createCard({ cardType: 'Physical' })
    return { path: '//bureau/batches', body: { limit: 1 } }
  },
  'PUT /bureau/batches/:batchId/acknowledgement': async () => {
    await service.createCard({ cardType: 'Physical' })
    const { batchId } = (await administer('POST', '/bureau/batches', { limit: 1 })).json
    return { path: `//bureau/batches/${batchId}/acknowledgement` }
  },
  'POST /bureau/plastics/:publicToken/:plasticNumber/status': async () => {
    const { publicToken } = await service.createCard({ cardType: 'Physical' })
    await administer('POST', '/bureau/batches', { limit: 500 })
    const path = `//bureau/plastics/${publicToken}/0/status`
    return { path, body: { deliveryStatus: 'Produced' } }
  },
  ...Object.fromEntries(
    ['ship', 'deliver', 'return'].map((act) => [
      `POST ${base}/sandbox/plastics/:publicToken/:plasticNumber/${act}`,
      async () => {
        const { publicToken } = await service.createCard({ cardType: 'Physical' })
        return { path: `/sandbox/plastics/${publicToken}/0/${act}` }
      },
    ]),
  ),
  [`POST ${base}/renewals`]: async () => ({
    path: '/renewals',
    body: { productId: 1001, expiringBefore: '2026-12-31', dryRun: true },
  }),
  'POST /cards/unblock': async () => ({
    path: '//cards/unblock',
    body: {
      publicTokens: [(await service.createCard()).publicToken, '9999999999'],
      kind: 'pin',
      reason: 'An outage',
    },
  }),
  'POST /network/authorizations': async () => {
    const { publicToken } = await service.createCard()
    const body = { publicToken, entryMode: 'ecommerce', reference: 'R-1', cvv2: '000' }
    return { path: '//network/authorizations', as: 'network', body }
  },
  [`POST ${base}/cards`]: async () => ({ path: '/cards', body: newCard() }),
  'PUT /products/:productId/controls': async () => ({
    path: '//products/1001/controls',
    body: { version: 0, singleUse: true },
  }),
  [`PUT ${base}/cards/:publicToken/controls`]: async () => ({
    path: `/cards/${(await service.createCard()).publicToken}/controls`,
    body: { version: 0, singleUse: true },
  }),
  [`PUT ${base}/cards/:publicToken/status`]: async () => {
    const { publicToken } = await service.createCard()
    return { path: `/cards/${publicToken}/status`, body: { cardStatusCode: '62' } }
  },
  [`POST ${base}/cards/:publicToken/renew`]: async () => {
    const { publicToken } = await service.createCard({ cardType: 'Physical' })
    const body = { renewStep: 'RenewWithSameExpiry', freetext1: 'By courier' }
    return { path: `/cards/${publicToken}/renew`, body }
  },
  [`DELETE ${base}/cards/:publicToken/renewal`]: async () => {
    const { publicToken } = await service.createCard({ cardType: 'Physical' })
    const body = { renewStep: 'RenewWithSameExpiry' }
    const { status, text } = await service.call('POST', `/cards/${publicToken}/renew`, { body })
    assert.equal(status, 204, text)
    return { path: `/cards/${publicToken}/renewal` }
  },
  [`PATCH ${base}/cards/:publicToken`]: async () => ({
    path: `/cards/${(await service.createCard()).publicToken}`,
    body: { metadata: { costCentre: '4711' } },
  }),
  [`POST ${base}/cards/:publicToken/replace`]: async () => ({
    path: `/cards/${(await service.createCard()).publicToken}/replace`,
    body: { reason: 'Damaged' },
  }),
  ...Object.fromEntries(
    ['PUT', 'PATCH'].flatMap((method) => [
      [
        `${method} ${base}/cards/:publicToken/card-type`,
        async () => ({
          path: `/cards/${(await service.createCard()).publicToken}/card-type`,
          body: { cardType: 'Physical' },
        }),
      ],
      [
        `${method} ${base}/cards/:publicToken/complete-replacement`,
        async () => {
          const { publicToken } = await service.createCard({ cardType: 'Physical' })
          const path = `/cards/${publicToken}`
          const replaced = await service.call('POST', `${path}/replace`, { body: {} })
          assert.equal(replaced.status, 200, replaced.text)
          return { path: `${path}/complete-replacement` }
        },
      ],
    ]),
  ),
  [`POST ${base}/card-pin/:publicToken/pin`]: async () => {
    const card = await service.createCard()
    return { path: `/card-pin/${card.publicToken}/pin`, body: { pin: strongPins(card)[0] } }
  },
  [`POST ${base}/card-pin/:publicToken/pin/unblock`]: async () => ({
    path: `/card-pin/${(await service.createCard()).publicToken}/pin/unblock`,
  }),
  [`PUT ${base}/card-cvv/:publicToken/cvv/status`]: async () => ({
    path: `/card-cvv/${(await service.createCard()).publicToken}/cvv/status`,
    body: { status: 'Blocked' },
  }),
  [`POST ${base}/simulator/authorizations`]: async () => ({
    path: '/simulator/authorizations',
    body: { publicToken: (await service.createCard()).publicToken, cvv: '000' },
  }),
  [`POST ${base}/simulator/increments`]: async () => {
    const { publicToken } = await service.createCard()
    const body = { publicToken, networkTransactionId: 'N1', amount: 500, currency: 'EUR' }
    return { path: '/simulator/increments', body }
  },
  [`PUT ${base}/decision-endpoint`]: async () => ({
    path: '/decision-endpoint',
    body: { url: 'https://decide.example.com/' },
  }),
  [`POST ${base}/cards/:publicToken/chip/commands`]: async () => {
    const { publicToken } = await service.createCard({ cardType: 'Physical' })
    const path = `/cards/${publicToken}/chip/commands`
    return { path, body: { command: 'block_application' } }
  },
  [`POST ${base}/decision-endpoint/activate`]: async () => {
    const { url } = await openDecisionEndpoint(answerPing)
    await setEndpoint(service, { url })
    return { path: '/decision-endpoint/activate' }
  },
  [`POST ${base}/decision-endpoint/rollback`]: async () => {
    const { url } = await openDecisionEndpoint(answerPing)
    await putInForce(service, { url })
    await putInForce(service, { url, timeoutMs: 2_000 })
    return { path: '/decision-endpoint/rollback' }
  },
  [`POST ${base}/decision-endpoint/rotate-secret`]: async () => {
    await setEndpoint(service, { url: 'https://decide.example.com/' })
    return { path: '/decision-endpoint/rotate-secret' }
  },
  [`POST ${base}/webhooks`]: async () => ({
    path: '/webhooks',
    body: { url: 'https://hooks.example.com/', events: ['*'] },
  }),
  [`PUT ${base}/webhooks/:webhookId`]: async () => ({
    path: `/webhooks/${await createWebhook()}`,
    body: { url: 'https://hooks.example.com/2', events: ['*'], status: 'Enabled' },
  }),
  [`POST ${base}/webhooks/:webhookId/rotate-secret`]: async () => ({
    path: `/webhooks/${await createWebhook()}/rotate-secret`,
  }),
  [`POST ${base}/webhooks/:webhookId/ping`]: async () => ({
    path: `/webhooks/${await createWebhook()}/ping`,
  }),
  [`POST ${base}/webhooks/:webhookId/deliveries/:deliveryId/resend`]: async () => {
    const webhookId = await createWebhook()
    await service.createCard()
    await publishBatch(service.database)
    const { json } = await service.call('GET', `/webhooks/${webhookId}/deliveries`)
    const path = `/webhooks/${webhookId}/deliveries/${json[0].deliveryId}/resend`
    return { path }
  },
  [`POST ${base}/webhooks/:webhookId/replay`]: async () => ({
    path: `/webhooks/${await createWebhook()}/replay`,
    body: { since: new Date(Date.now() - 60_000).toISOString() },
  }),
  ...Object.fromEntries(
    (['replay', 'disable', 'enable'] as const).map((act) => [
      `POST /clients/:clientId/webhooks/:webhookId/${act}`,
      async () => ({
        path: `//clients/demo-client/webhooks/${await createWebhook()}/${act}`,
        body: {
          reason: 'It was asked for',
          ...(act === 'replay' && { since: new Date(Date.now() - 60_000).toISOString() }),
        },
      }),
    ]),
  ),
  'POST /clients/:clientId/webhooks/:webhookId/deliveries/:deliveryId/resend': async () => {
    const webhookId = await createWebhook()
    await service.createCard()
    await publishBatch(service.database)
    const { json } = await service.call('GET', `/webhooks/${webhookId}/deliveries`)
    const path = `//clients/demo-client/webhooks/${webhookId}/deliveries/${json[0].deliveryId}/resend`
    return { path, body: { reason: 'It was asked for' } }
  },
  'POST /audit/erasures': async () => ({
    path: '//audit/erasures',
    body: { publicToken: (await service.createCard()).publicToken, reason: 'It was asked for' },
  }),
  'POST /audit/successor': async () => {
    await enterAll(service.database)
    await sql(service.database, `update audit_log set refusal = 'It lags behind' returning log`)
    return { path: '//audit/successor', body: { reason: 'A standby took over' } }
  },
  'POST /sandbox/authorizations': async () => ({
    path: '//sandbox/authorizations',
    body: { publicToken: (await service.createCard()).publicToken, cvv: '000' },
  }),
  'POST /sandbox/clock': async () => ({
    path: '//sandbox/clock',
    body: { now: new Date(Date.now() + 60_000).toISOString() },
  }),
  'POST /keys/master-key/rotate': async () => {
    const line = `${randomBytes(32).toString('hex')}\n`
    await appendFile(join(service.dataDir, 'master.key'), line)
    return { path: '//keys/master-key/rotate', body: {} }
  },
}

const tokenOf = async (clientId: string, secret: string): Promise<string> => {
  const basic = Buffer.from(`${clientId}:${secret}`).toString('base64')
  const { json, text } = await service.call('POST', '//oauth/token', {
    token: null,
    payload: 'grant_type=client_credentials',
    headers: {
      authorization: `Basic ${basic}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
  })
  assert.ok(json.access_token, text)
  return json.access_token
}

/** How many rows every table has, but for what is remembered of requests and counted of calls. */
const rowCounts = async (): Promise<Record<string, number>> => {
  const tables = await sql<{ name: string }>(
    service.database,
    `select tablename as name from pg_tables where schemaname = 'public'
     and tablename not in ('idempotency_record', 'client_limit', 'card_limit') order by 1`,
  )
  const counts: Record<string, number> = {}
  for (const { name } of tables) {
    const [row] = await sql<{ count: number }>(
      service.database,
      `select count(*)::integer as count from ${name}`,
    )
    counts[name] = row?.count ?? 0
  }
  return counts
}

/** What is shown once is left out of a repeat. */
const withoutSecrets = ({ json }: Answer) => {
  if (json === undefined || Array.isArray(json)) return json
  const { clientSecret: _, secret: __, ...rest } = json
  return rest
}

test('a repeat of any of them gets the first answer, marked, without its secret, and nothing happens twice', async () => {
  const repeatable = changes().filter((route) => route.config?.repeatable && !isPersons(route))
  assert.deepEqual(Object.keys(samples).sort(), repeatable.map(nameOf).sort())
  for (const [name, sample] of Object.entries(samples)) {
    const { as, body, path } = await sample()
    const isPublic = name.includes(base)
    const given = {
      as: as ?? (isPublic ? 'client' : 'admin'),
      listener: isPublic ? 'public' : 'private',
      headers: { 'idempotency-key': randomUUID() },
      ...(body && { body }),
    } as const
    const [method = ''] = name.split(' ')
    const first = await service.call(method, path, given)
    assert.ok(first.status >= 200 && first.status < 300, `${name}: ${first.status} ${first.text}`)
    const counts = await rowCounts()
    const second = await service.call(method, path, given)
    assert.deepEqual(
      [second.status, second.headers['idempotency-replayed']],
      [first.status, 'true'],
      name,
    )
    assert.deepEqual(second.json, withoutSecrets(first), name)
    assert.deepEqual(await rowCounts(), counts, name)
    // No body is read of a DELETE, so no other request has its path.
    if (method === 'DELETE') continue
    const other = await service.call(method, path, { ...given, body: { ...body, other: 'x' } })
    assert.ok(other.status === 422, `${name}: another request under the key was ${other.status}`)
  }
})
