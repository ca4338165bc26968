/**
 * Which private routes need two people, each of them, and that one person alone gets none of these
 * done.
 */
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { type ApprovalKind, approvalKinds } from '../../../src/domain/approval.ts'
import type { Person } from '../../../src/domain/person.ts'
import { enterAll } from '../../support/audit.ts'
import { activateKey, client } from '../../support/builders.ts'
import { openWithRoutes, type Route } from '../../support/routes.ts'
import { openTestService, sql, type TestService } from '../../support/service.ts'
import { callAs, callAsClient, carryOut, makePerson, newJwks } from './people.ts'
import { administer, bringZoneMasterKey, zoneKey } from './zone-keys.ts'

/** What one call of a route is, made ready so that it can be done. */
type Asked = { path: string; body?: object }
type NeedsTwo = { kinds: readonly ApprovalKind[]; asks: readonly (() => Promise<Asked>)[] }

const inNeed = (reason: string): NeedsTwo | string => reason
const one = {
  card: 'A card is looked after by one person, within its limits and on record.',
  webhook: 'Endpoints are switched and served again by one person, on record.',
  own: 'It is how an approval is decided.',
  sandbox: 'There is no such route in production.',
  console: 'The console calls the routes of this listener as the person.',
}

/**
 * Every route of the private listener that changes anything: what it needs, or why one person is
 * enough.
 */
const routesThatChange: Readonly<Record<string, NeedsTwo | string>> = {
  'POST /network/authorizations': inNeed('A card network asks, and no person.'),
  'POST /network/reversals': inNeed('A card network asks, and no person.'),
  'POST /network/advices': inNeed('A card network asks, and no person.'),
  'POST /network/clearings': inNeed('A card network asks, and no person.'),
  'POST /bureau/batches': inNeed('A bureau takes orders, and no person.'),
  'PUT /bureau/batches/:batchId/acknowledgement': inNeed('A bureau acknowledges, and no person.'),
  'POST /bureau/plastics/:publicToken/:plasticNumber/status': inNeed(
    'A bureau reports, and no person.',
  ),
  'POST /cards/search': inNeed('It has no effect.'),
  'POST /cards/:publicToken/freeze': one.card,
  'POST /cards/:publicToken/unfreeze': one.card,
  'POST /cards/:publicToken/pin/unblock': one.card,
  'POST /cards/:publicToken/cvv/unblock': one.card,
  'POST /cards/:publicToken/cardholder': one.card,
  'POST /cards/:publicToken/activate': one.card,
  'POST /cards/:publicToken/renew': one.card,
  'POST /cards/:publicToken/cancel-renewal': one.card,
  'POST /cards/:publicToken/convert': one.card,
  'POST /cards/:publicToken/replace': one.card,
  'POST /keys': 'A key that is made here is known to nobody.',
  'POST /keys/:key/rotate': 'A key that is made here is known to nobody.',
  'POST /keys/import': 'It comes under a zone master key, which two people brought.',
  'POST /component-entries': 'Each component is brought by another person.',
  'POST /component-entries/:entryId/components': 'Each component is brought by another person.',
  'POST /keys/master-key/rotate': {
    kinds: ['master-key-rotation'],
    asks: [
      async () => {
        const key = `${randomBytes(32).toString('hex')}\n`
        await appendFile(join(service.dataDir, 'master.key'), key)
        return { path: '/keys/master-key/rotate', body: {} }
      },
    ],
  },
  'POST /keys/export': {
    kinds: ['key-export'],
    asks: [
      async () => {
        const [key, zoneMasterKey] = [unique('zone'), unique('zmk')]
        await bringZoneMasterKey(service, zoneMasterKey)
        await administer(service, 'POST', '/keys', { ...zoneKey(key), exportable: true })
        return { path: '/keys/export', body: { key, clientId: 'demo-network', zoneMasterKey } }
      },
    ],
  },
  'POST /keys/:key/versions/:version/retire': {
    kinds: ['key-retirement'],
    asks: [
      async () => {
        await administer(service, 'POST', '/keys/cvk/rotate')
        await activateKey(service.database, 'cvk', '2 days')
        await service.keys.hsm.refreshKeys()
        return { path: '/keys/cvk/versions/1/retire' }
      },
    ],
  },
  'POST /keys/:key/versions/:version/delete': {
    kinds: ['key-deletion'],
    asks: [
      async () => {
        const made = await administer(service, 'POST', '/keys', {
          family: 'installation',
          key: 'pvk',
        })
        return { path: `/keys/pvk/versions/${made.version}/delete` }
      },
    ],
  },
  'POST /keys/zones/retire': {
    kinds: ['key-retirement'],
    asks: [
      async () => {
        const key = unique('zone')
        await administer(service, 'POST', '/keys', zoneKey(key))
        return { path: '/keys/zones/retire', body: { key, clientId: 'demo-network' } }
      },
    ],
  },
  // After the keys: cards keep theirs in use.
  'POST /cards/unblock': {
    kinds: ['unblock-cards'],
    asks: [
      async () => {
        const cards = await Promise.all([1, 2, 3].map(() => service.createCard()))
        const publicTokens = cards.map(({ publicToken }) => publicToken)
        return { path: '/cards/unblock', body: { publicTokens, kind: 'pin', reason: 'An outage' } }
      },
    ],
  },
  'POST /cards/:publicToken/delivery-address': {
    kinds: ['card-delivery'],
    asks: [
      async () => {
        const { publicToken } = await service.createCard({ cardType: 'Physical' })
        const fulfilment = { addressLine1: 'Gran Via 2', postCode: '28013', country: 'ESP' }
        const body = { fulfilment, reason: 'The holder has moved' }
        return { path: `/cards/${publicToken}/delivery-address`, body }
      },
    ],
  },
  'POST /products': 'It gives nobody anything to see.',
  'PATCH /products/:productId': 'It gives nobody anything to see.',
  'PUT /products/:productId/controls': 'It gives nobody anything to see.',
  'POST /products/:productId/controls/back-test': 'It changes nothing.',
  'PUT /clients/:clientId/products/:productId': 'It lets a client issue cards, and see no other.',
  'DELETE /clients/:clientId/products/:productId': 'It takes away.',
  'POST /clients/:clientId/confirm': 'It is the word of another administrator itself.',
  'POST /clients': {
    kinds: ['administrator', 'disclosure-scopes', 'network'],
    asks: [
      async () => ({ path: '/clients', body: newClient('admin', ['support.read']) }),
      async () => ({ path: '/clients', body: newClient('client', ['pin.reveal']) }),
      async () => ({ path: '/clients', body: newClient('client', ['pin.write']) }),
      async () => ({ path: '/clients', body: newClient('network', ['authorizations.write']) }),
    ],
  },
  'PATCH /clients/:clientId': {
    kinds: ['administrator', 'disclosure-scopes', 'client-credentials', 'network'],
    asks: [
      async () => changeOf(await storeClient('admin', ['support.read']), { scopes: ['admin'] }),
      async () => changeOf(await storeClient('admin', ['support.read']), { jwks: newJwks() }),
      async () =>
        changeOf(await storeClient('client', ['cards.read']), {
          scopes: ['pin.reveal'],
          jwks: newJwks(),
        }),
      async () => changeOf(await storeClient('client', ['pin.reveal']), { jwks: newJwks() }),
      async () => changeOf(await storeClient('client', ['pin.reveal'], false), { active: true }),
      async () => changeOf(await storeClient('network', []), { jwks: newJwks() }),
      async () => changeOf(await storeClient('network', [], false), { active: true }),
    ],
  },
  'POST /clients/:clientId/rotate-secret': {
    kinds: ['administrator', 'client-credentials', 'network'],
    asks: [
      async () => rotationOf(await storeClient('admin', ['support.read'])),
      async () => rotationOf(await storeClient('client', ['cards.encrypted'])),
      async () => rotationOf(await storeClient('network', ['authorizations.write'])),
    ],
  },
  'POST /zones': {
    kinds: ['network'],
    asks: [
      async () => ({
        path: '/zones',
        body: { clientId: unique('net'), clientName: 'A network', jwks: newJwks() },
      }),
    ],
  },
  'POST /zones/:clientId/retire': {
    kinds: ['network-retirement'],
    asks: [async () => ({ path: `/zones/${await storeClient('network', [])}/retire` })],
  },
  'POST /links': { kinds: ['link'], asks: [async () => ({ path: '/links', body: newLink() })] },
  'PATCH /links/:linkName': {
    kinds: ['link'],
    asks: [
      async () => ({ path: `/links/${await storeLink()}`, body: { host: '127.0.0.2' } }),
      async () => ({ path: `/links/${await storeLink()}`, body: { active: true } }),
    ],
  },
  'POST /people/:personId/sign-out': 'It takes away.',
  'POST /approvals/:approvalId/approve': one.own,
  'POST /approvals/:approvalId/refuse': one.own,
  'POST /approvals/:approvalId/withdraw': one.own,
  'POST /approvals/:approvalId/break-glass':
    'It is an act of its own kind, which everybody hears of.',
  'POST /clients/:clientId/webhooks/:webhookId/deliveries/:deliveryId/resend': one.webhook,
  'POST /clients/:clientId/webhooks/:webhookId/replay': one.webhook,
  'POST /clients/:clientId/webhooks/:webhookId/disable': one.webhook,
  'POST /clients/:clientId/webhooks/:webhookId/enable': one.webhook,
  'POST /audit/erasures': {
    kinds: ['erasure'],
    asks: [
      async () => ({
        path: '/audit/erasures',
        body: { publicToken: '4820117360', reason: 'They asked for it' },
      }),
    ],
  },
  'POST /sandbox/clock': one.sandbox,
  'POST /sandbox/settle': one.sandbox,
  'PUT /sandbox/snapshots/:snapshotName': one.sandbox,
  'POST /sandbox/snapshots/:snapshotName/restore': one.sandbox,
  'DELETE /sandbox/snapshots/:snapshotName': one.sandbox,
  'POST /sandbox/authorizations': one.sandbox,
  // The last one: from here on another log is in use.
  'POST /audit/successor': {
    kinds: ['audit-successor'],
    asks: [
      async () => {
        await enterAll(service.database)
        await sql(service.database, `update audit_log set refusal = 'It lags behind' returning log`)
        return { path: '/audit/successor', body: { reason: 'A standby took over' } }
      },
    ],
  },
}

let service: TestService
let routes: readonly Route[]
let clientId: string

const officer = (subject: string): Person => ({
  ...makePerson(subject, 'security-officer'),
  roles: ['security-officer', 'support-lead'],
})
const [sue, ann, sol] = [officer('sue'), officer('ann'), officer('sol')]

before(async () => {
  const opened = await openWithRoutes(() =>
    openTestService({
      env: { APPROVALS: 'all', APPROVALS_UNBLOCK_CARDS: '2', RATE_LIMIT: 'off' },
    }),
  )
  service = opened.service
  routes = opened.routes.filter(({ listener }) => listener === 'private')
  const body = newClient('admin', ['admin', 'support.write'])
  clientId = body.clientId
  const asked = await callAs(service, sue, 'POST', '/clients', { body })
  assert.equal((await approve(ann, asked.body)).status, 200)
  await carryOut(service)
})

const approve = (person: Person, { approvalId, payloadHash }: Record<string, string>) =>
  callAs(service, person, 'POST', `/approvals/${approvalId}/approve`, { body: { payloadHash } })

const stateOf = async ({ approvalId }: Record<string, string>) =>
  (await callAs(service, sol, 'GET', `/approvals/${approvalId}`)).body

/** Whether an entry of the audit log has this reason. */
const isInAuditLog = async (reason: string): Promise<boolean> => {
  await enterAll(service.database)
  const entries = await sql(
    service.database,
    `select 1 as "one" from audit_entry where text like $1`,
    [`%"reason":"${reason}"%`],
  )
  return entries.length > 0
}

let drawn = 0
const unique = (word: string): string => {
  drawn += 1
  return `${word}-${drawn}`
}

const newClient = (kind: string, scopes: readonly string[]) => ({
  clientId: unique('client'),
  clientName: 'A client',
  kind,
  scopes,
  jwks: newJwks(),
})

/** A client with a secret, as there may be one from before approvals were needed. */
const storeClient = async (
  kind: 'admin' | 'client' | 'network',
  scopes: readonly string[],
  active = true,
): Promise<string> => {
  const clientId = unique('holder')
  return client(service.database, { clientId, kind, scopes, secret: 'a secret', active })
}
const changeOf = (id: string, body: object): Asked => ({ path: `/clients/${id}`, body })
const rotationOf = (id: string): Asked => ({
  path: `/clients/${id}/rotate-secret`,
  body: { secretHash: createHash('sha256').update(randomBytes(32)).digest('hex') },
})

const newLink = () => ({
  linkName: unique('link'),
  networkId: 'demo-network',
  direction: 'listen',
  host: '127.0.0.1',
  port: 1 + drawn,
  profile: 'sandbox',
})
const storeLink = async (): Promise<string> => {
  const body = newLink()
  const asked = await callAs(service, sue, 'POST', '/links', { body })
  await approve(sol, asked.body)
  await carryOut(service)
  // What takes away is left to one person.
  const off = await callAs(service, sue, 'PATCH', `/links/${body.linkName}`, {
    body: { active: false },
  })
  assert.equal(off.status, 200, JSON.stringify(off.body))
  return body.linkName
}

test('every private route that changes anything says whether it needs two people', () => {
  const changing = routes
    .filter(({ method }) => !['GET', 'HEAD', 'OPTIONS'].includes(method))
    // What the console does it has the other routes do, as the person.
    .filter(({ url }) => !url.startsWith('/console/'))
  const found = changing.map(({ config, method, url }) => [
    `${method} ${url}`,
    config.approval?.kinds ?? 'one person',
  ])
  const said = Object.entries(routesThatChange).map(([route, needs]) => [
    route,
    typeof needs === 'string' ? 'one person' : needs.kinds,
  ])
  const byRoute = (rows: unknown[][]) =>
    rows.toSorted((a, b) => (String(a[0]) < String(b[0]) ? -1 : 1))
  assert.deepEqual(byRoute(found), byRoute(said))
})

test('every kind of approval is of a route', () => {
  const kinds = Object.values(routesThatChange).flatMap((needs) =>
    typeof needs === 'string' ? [] : needs.kinds,
  )
  assert.deepEqual([...new Set(kinds)].sort(), Object.keys(approvalKinds).sort())
})

for (const [route, needs] of Object.entries(routesThatChange)) {
  if (typeof needs === 'string') continue
  const [method = ''] = route.split(' ')
  for (const [at, prepare] of needs.asks.entries()) {
    test(`${route} (${at + 1}) needs an independent person, and is recorded with its reason`, async () => {
      const { body, path } = await prepare()
      const reason = unique('Ticket')
      const given = { body: { ...body, reason } }
      const scopes = ['admin', 'support.write']
      const asClient = await callAsClient(service, clientId, scopes, method, path, given)
      assert.equal(asClient.status, 202, JSON.stringify(asClient.body))
      const asPerson = await callAs(service, sue, method, path, given)
      assert.equal(asPerson.status, 202, JSON.stringify(asPerson.body))
      for (const [person, { body: asked }] of [
        // Who registered the client that asked, who approved that, and who asked.
        [sue, asClient],
        [ann, asClient],
        [sue, asPerson],
      ] as const) {
        const refused = await approve(person, asked)
        assert.deepEqual([refused.status, refused.body.code], [403, 'same_person'])
      }
      await carryOut(service)
      assert.equal((await stateOf(asClient.body)).state, 'waiting')
      assert.equal((await stateOf(asPerson.body)).state, 'waiting')
      const approved = await approve(sol, asPerson.body)
      assert.equal(approved.status, 200, JSON.stringify(approved.body))
      await carryOut(service)
      const done = await stateOf(asPerson.body)
      assert.equal(done.state, 'done', JSON.stringify(done.outcome))
      assert.ok(needs.kinds.includes(done.kind), done.kind)
      assert.equal(done.reason, reason)
      assert.equal(done.payload === null, approvalKinds[done.kind as ApprovalKind].isForgotten)
      // Acts on cards seal their reason beside the event instead.
      const isOnCards = ['unblock-cards', 'card-delivery'].includes(done.kind)
      assert.equal(await isInAuditLog(reason), !isOnCards)
      // Nothing waits for the next test.
      await callAs(service, sol, 'POST', `/approvals/${asClient.body.approvalId}/refuse`, {
        body: { reason: 'It is done by the other' },
      })
    })
  }
}
