import assert from 'node:assert/strict'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { before, test } from 'node:test'
import { aesKeyCheckValue } from '../../src/crypto/key-check-value.ts'
import { luhnCheckDigit, Pan } from '../../src/domain/pan.ts'
import { derivePersonId } from '../../src/domain/person.ts'
import { createSigner } from '../../src/operations/audit-log/sign.ts'
import { upsertPerson } from '../../src/storage/people/people.ts'
import { enterAll } from '../support/audit.ts'
import { listLeaves, openWithRoutes, type Route } from '../support/routes.ts'
import {
  type Answer,
  newCard,
  openTestService,
  sql,
  strongPins,
  type TestService,
} from '../support/service.ts'

/** No card number or PIN that a test makes begins so. */
const panPrefix = '519283'
const pinPrefix = '840625'

/** Card numbers and PINs that stand nowhere else, and the place that each was put into. */
const place = (): string => String(issued.size + 1).padStart(9, '0')
const issued = new Map<string, string>()
const issue = (digits: string, name: string): string => {
  issued.set(digits, name)
  return digits
}
const panFor = (name: string): string => {
  const digits = panPrefix + place()
  return issue(digits + luhnCheckDigit(digits), name)
}
const pinFor = (name: string): string => issue(pinPrefix + place().slice(3), name)

const lines: string[] = []
const answers: string[] = []
let service: TestService
let routes: readonly Route[]
const done = new Map<string, Set<number>>()

/** What a route is called with, so that it does what it is there for. */
let bases: Record<string, () => Omit<Sent, 'headers'> | Promise<object>>

let drawn = 0
const unique = (): string => {
  drawn += 1
  return `n${drawn}`
}

/** One at a time: a client may have twenty. */
async function freshWebhook(): Promise<Record<string, string>> {
  const { json: present } = await service.call('GET', '/webhooks')
  for (const { webhookId } of present) await service.call('DELETE', `/webhooks/${webhookId}`)
  const body = { url: 'https://hooks.example.com/a', events: ['*'] }
  const { json } = await service.call('POST', '/webhooks', { body })
  return { webhookId: json.webhookId, deliveryId: '1' }
}
const freshCard = async () => ({ publicToken: (await service.createCard()).publicToken })
/** A card with a chip. */
const chipCard = async () => {
  const { publicToken } = await service.createCard({ cardType: 'Physical' })
  return { publicToken }
}
/** A card whose virtual chip has begun a transaction. */
const virtualChip = async () => {
  const ids = await chipCard()
  const path = `/simulator/cards/${ids.publicToken}/chip`
  await service.call('POST', path, { body: {} })
  await service.call('POST', `${path}/transactions`, { body: {} })
  return { ids }
}
/** A plastic that is ordered. */
const orderedPlastic = async () => ({ ids: { ...(await chipCard()), plasticNumber: '0' } })
/** A batch of one plastic. */
const takenBatch = async () => {
  await chipCard()
  const { json } = await service.call('POST', '//bureau/batches', { ...asAdmin, body: {} })
  return { ids: { batchId: json.batchId } }
}
/** A card that was replaced, with a successor that is not active. */
const replacedCard = async () => {
  const ids = await chipCard()
  await service.call('POST', `/cards/${ids.publicToken}/replace`, { body: {} })
  return { ids }
}
/** A card whose next plastic is ordered. */
const renewingCard = async () => {
  const ids = await chipCard()
  const body = { renewStep: 'RenewWithSameExpiry' }
  await service.call('POST', `/cards/${ids.publicToken}/renew`, { body })
  return { ids }
}
/** A card, and an authorization that was answered. */
const answeredCard = async () => {
  const { publicToken } = await freshCard()
  const body = { publicToken, entryMode: 'chip', reference: 'R1' }
  const network = { listener: 'private', as: 'network', body } as const
  await service.call('POST', '//network/authorizations', network)
  const listed = await service.call('GET', `//cards/${publicToken}/authorizations`, asAdmin)
  return { ids: { publicToken, authorizationId: listed.json[0].authorizationId } }
}
/** A decision endpoint that is not in force. */
const registeredEndpoint = async () => {
  const body = { url: 'https://decide.example.com/a', fallback: { onTimeout: 'decline' } }
  await service.call('PUT', '/decision-endpoint', { body })
  return { body }
}
const money = { amount: 1_000, currency: 'EUR' }

/** A message of a network about a payment of a new card. */
const freshMessage = async (members: object = {}) => ({
  body: { ...(await freshCard()), networkTransactionId: unique(), ...members },
})
/** A card, and a payment that a clearing opened. */
const forcedPayment = async () => {
  const { body } = await freshMessage(money)
  const { json } = await service.call('POST', '/simulator/clearings', { body })
  return { ids: { publicToken: body.publicToken, paymentId: json.paymentId } }
}
const controls = { version: 0, merchants: { blocked: ['SHOP42'] }, countries: { blocked: ['PRK'] } }

const asAdmin = { listener: 'private', as: 'admin' } as const
const freshClient = async (kind: string) => {
  const clientId = unique()
  const body = { clientId, clientName: 'A client', kind, scopes: [] }
  await service.call('POST', '//clients', { ...asAdmin, body })
  return { clientId, productId: '1001' }
}
const entryOf = (key: string) => ({
  family: 'zone-master',
  key,
  algorithm: 'AES',
  lengthBytes: 16,
  componentCount: 2,
  keyCheckValue: 'AABBCC',
})

before(async () => {
  const made = await openWithRoutes(() =>
    openTestService({
      onLogLine: (line) => lines.push(line),
      env: { RATE_LIMIT: 'off', LOG_LEVEL: 'trace' },
    }),
  )
  service = made.service
  routes = made.routes.filter(
    ({ method, schema, url }) =>
      // A stream does not end.
      !schema.hide &&
      !['HEAD', 'OPTIONS'].includes(method) &&
      !/^\/docs|^\/demo|\*|\/stream$/.test(url),
  )
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const deviceKey = pair.publicKey.export({ format: 'jwk' })
  const jwks = { ...deviceKey, kid: 'k' }
  const erasure = { publicToken: '4820117360', reason: 'It was asked for' }
  await enterAll(service.database)
  await createSigner(service.audit)()
  const address = { addressLine1: 'Calle Mayor 1', postCode: '28013', country: 'ESP' }
  const t = '/thr/processor'
  const product = () => ({
    productName: unique(),
    schemeName: 'Visa',
    productId: 5_000 + drawn,
    bin: String(410_000 + drawn),
    currencyCode: 'EUR',
    cardTypes: ['Virtual'],
  })
  bases = {
    [`POST ${t}/cards`]: () => ({ body: newCard({ cardType: 'Physical', fulfilment: address }) }),
    [`PUT ${t}/cards/:publicToken/status`]: () => ({ body: { cardStatusCode: '62' } }),
    [`PATCH ${t}/cards/:publicToken`]: () => ({ body: { metadata: { project: 'Alpha' } } }),
    [`POST ${t}/cards/:publicToken/renew`]: () => ({
      body: { renewStep: 'RenewWithSameExpiry', freetext1: 'By courier' },
    }),
    [`DELETE ${t}/cards/:publicToken/renewal`]: renewingCard,
    [`POST ${t}/cards/:publicToken/replace`]: async () => ({
      ids: await chipCard(),
      body: { reason: 'Damaged', freetext1: 'By courier', fulfilment: address },
    }),
    [`PUT ${t}/cards/:publicToken/complete-replacement`]: replacedCard,
    [`PUT ${t}/cards/:publicToken/card-type`]: () => ({
      body: { cardType: 'Physical', freetext1: 'By courier' },
    }),
    [`POST ${t}/card-pin/:publicToken/pin`]: async () => {
      const card = await service.createCard()
      return { ids: { publicToken: card.publicToken }, body: { pin: strongPins(card)[0] } }
    },
    [`POST ${t}/card-pin/:publicToken/pin/unblock`]: () => ({ body: {} }),
    [`PUT ${t}/card-cvv/:publicToken/cvv/status`]: () => ({ body: { status: 'Blocked' } }),
    [`POST ${t}/cards/:publicToken/encrypted`]: () => ({
      body: { deviceKey, nonce: 'a'.repeat(16) },
    }),
    [`POST ${t}/webhooks`]: () => ({ body: { url: 'https://hooks.example.com/a', events: ['*'] } }),
    [`PUT ${t}/webhooks/:webhookId`]: () => ({
      body: { url: 'https://hooks.example.com/b', events: ['*'], description: 'A hook' },
    }),
    [`POST ${t}/webhooks/:webhookId/replay`]: () => ({ body: { since: new Date().toISOString() } }),
    [`GET ${t}/cards/:publicToken/chip`]: async () => ({ ids: await chipCard() }),
    'GET /cards/:publicToken/chip': async () => ({ ids: await chipCard() }),
    [`POST ${t}/cards/:publicToken/chip/commands`]: async () => ({
      ids: await chipCard(),
      body: { command: 'block_application' },
    }),
    [`POST ${t}/simulator/cards/:publicToken/chip`]: async () => ({
      ids: await chipCard(),
      body: {},
    }),
    [`GET ${t}/simulator/cards/:publicToken/chip`]: virtualChip,
    [`POST ${t}/simulator/cards/:publicToken/chip/transactions`]: async () => ({
      ...(await virtualChip()),
      body: {},
    }),
    [`POST ${t}/simulator/cards/:publicToken/chip/answers`]: async () => ({
      ...(await virtualChip()),
      body: { approved: true },
    }),
    [`POST ${t}/simulator/authorizations`]: async () => ({ body: await freshCard() }),
    'POST /network/authorizations': async () => ({
      body: { ...(await freshCard()), entryMode: 'chip', reference: 'R1', cvv2: '000' },
    }),
    'POST /cards/search': () => ({ body: { publicToken: '9999999999' } }),
    'POST /cards/:publicToken/freeze': () => ({ body: { reason: 'It was lost' } }),
    'POST /cards/:publicToken/unfreeze': async () => {
      const ids = await freshCard()
      const given = { ...asAdmin, body: { reason: 'It was lost' } }
      await service.call('POST', `//cards/${ids.publicToken}/freeze`, given)
      return { ids, body: { reason: 'It was found' } }
    },
    'POST /cards/:publicToken/pin/unblock': () => ({ body: { reason: 'It was forgotten' } }),
    'POST /cards/:publicToken/cvv/unblock': () => ({ body: { reason: 'A shop had it wrong' } }),
    'POST /cards/:publicToken/activate': () => ({ body: { reason: 'It has arrived' } }),
    'POST /cards/:publicToken/renew': () => ({
      body: { reason: 'It is worn', renewStep: 'RenewWithSameExpiry' },
    }),
    'POST /cards/:publicToken/cancel-renewal': async () => {
      const ids = await chipCard()
      const body = { reason: 'It is worn', renewStep: 'RenewWithSameExpiry' }
      await service.call('POST', `//cards/${ids.publicToken}/renew`, { ...asAdmin, body })
      return { ids, body: { reason: 'It is not worn' } }
    },
    'POST /cards/:publicToken/delivery-address': async () => ({
      ids: await chipCard(),
      body: { reason: 'The holder has moved', fulfilment: null },
    }),
    'POST /cards/:publicToken/convert': async () => ({
      ids: await freshCard(),
      body: { reason: 'The holder wants plastic' },
    }),
    'POST /cards/:publicToken/replace': async () => ({
      ids: await freshCard(),
      body: { reason: 'It was lost', replacementReason: 'Lost' },
    }),
    'POST /bureau/batches': async () => {
      await chipCard()
      return { body: { limit: 1 } }
    },
    'GET /bureau/batches': takenBatch,
    'GET /bureau/batches/:batchId': takenBatch,
    'GET /bureau/batches/:batchId/plastics': takenBatch,
    'PUT /bureau/batches/:batchId/acknowledgement': takenBatch,
    'POST /bureau/plastics/:publicToken/:plasticNumber/status': async () => {
      const plastic = await orderedPlastic()
      await service.call('POST', '//bureau/batches', { ...asAdmin, body: { limit: 500 } })
      return { ...plastic, body: { deliveryStatus: 'Produced' } }
    },
    ...Object.fromEntries(
      ['ship', 'deliver', 'return'].map((act) => [
        `POST ${t}/sandbox/plastics/:publicToken/:plasticNumber/${act}`,
        orderedPlastic,
      ]),
    ),
    [`POST ${t}/renewals`]: () => ({
      body: { productId: 1001, expiringBefore: '2026-12-31', dryRun: true },
    }),
    [`GET ${t}/renewals/:jobId`]: async () => {
      const body = { productId: 1001, expiringBefore: '2026-12-31', dryRun: true }
      return { ids: { jobId: (await service.call('POST', '/renewals', { body })).json.jobId } }
    },
    'POST /cards/unblock': () => ({
      body: { publicTokens: ['9999999999'], kind: 'pin', reason: 'An outage' },
    }),
    ...Object.fromEntries(
      ['GET', 'PUT', 'DELETE'].map((method) => [
        `${method} ${t}/decision-endpoint`,
        registeredEndpoint,
      ]),
    ),
    [`POST ${t}/decision-endpoint/rotate-secret`]: async () => {
      await registeredEndpoint()
      return {}
    },
    [`GET ${t}/authorizations/:authorizationId`]: answeredCard,
    'GET /cards/:publicToken/authorizations/:authorizationId': answeredCard,
    'GET /figures/authorizations': () => ({
      query: '?from=2026-11-23T00:00:00Z&to=2026-11-23T01:00:00Z&bucket=minute',
    }),
    'GET /figures/authorizations/clients': () => ({
      query: '?from=2026-11-23T00:00:00Z&to=2026-11-23T01:00:00Z',
    }),
    'POST /keys': () => ({
      body: {
        family: 'zone',
        key: unique(),
        clientId: 'demo-network',
        algorithm: 'AES',
        pinBlockFormats: ['ISO_FORMAT_4'],
        lengthBytes: 32,
      },
    }),
    'POST /keys/:key/rotate': () => ({ ids: { key: 'personal-data' } }),
    'POST /component-entries': () => ({ body: entryOf(unique()) }),
    'GET /component-entries/:entryId': async () => ({ ids: await freshEntry() }),
    'POST /component-entries/:entryId/components': async () => {
      const component = randomBytes(16)
      const keyCheckValue = aesKeyCheckValue(component).toString('hex')
      const body = { person: 'Ana Lim', component: component.toString('hex'), keyCheckValue }
      return { ids: await freshEntry(), body }
    },
    'POST /products': () => ({ body: product() }),
    'PATCH /products/:productId': () => ({ ids: { productId: '1003' }, body: { active: true } }),
    'POST /clients': () => ({
      body: { clientId: unique(), clientName: 'A', kind: 'client', scopes: [], jwks },
    }),
    'PATCH /clients/:clientId': async () => ({
      ids: await freshClient('client'),
      body: { clientName: 'B', jwks },
    }),
    'POST /clients/:clientId/rotate-secret': async () => ({
      ids: await freshClient('client'),
      body: {},
    }),
    'PUT /clients/:clientId/products/:productId': async () => ({
      ids: await freshClient('client'),
    }),
    'DELETE /clients/:clientId/products/:productId': async () => ({
      ids: await freshClient('client'),
    }),
    'GET /people/:personId': async () => ({ ids: await freshPerson() }),
    'POST /people/:personId/sign-out': async () => ({ ids: await freshPerson() }),
    'POST /zones': () => ({ body: { clientId: unique(), clientName: 'A zone' } }),
    'POST /zones/:clientId/retire': async () => ({ ids: await freshClient('network') }),
    'POST /links': () => ({ body: link(unique()) }),
    'GET /links/:linkName': async () => ({ ids: await freshLink() }),
    'GET /links/:linkName/advices': async () => ({ ids: await freshLink() }),
    'PATCH /links/:linkName': async () => ({ ids: await freshLink(), body: { active: false } }),
    [`GET ${t}/receipts/:entry`]: async () => {
      const { publicToken } = await freshCard()
      const shown = await service.call('GET', `/card-pin/${publicToken}/pin`)
      return { ids: { entry: String(shown.headers['audit-entry']) } }
    },
    'GET /audit/logs/:log/openings/:bundle': () => ({ ids: { log: '1', bundle: '0' } }),
    ...Object.fromEntries(
      ['replay', 'disable', 'enable'].map((act) => [
        `POST /clients/:clientId/webhooks/:webhookId/${act}`,
        () => ({
          body: {
            reason: 'It was asked for',
            ...(act === 'replay' && { since: new Date().toISOString() }),
          },
        }),
      ]),
    ),
    'GET /disclosures/:entry/receipt': async () => {
      const { publicToken } = await freshCard()
      const shown = await service.call('GET', `/card-pin/${publicToken}/pin`)
      return { ids: { entry: String(shown.headers['audit-entry']) } }
    },
    'POST /audit/erasures': () => ({ body: erasure }),
    'GET /audit/erasures/:erasure': async () => {
      const asked = await service.call('POST', '//audit/erasures', { ...asAdmin, body: erasure })
      return { ids: { erasure: asked.json.erasure } }
    },
    'POST /network/reversals': () => freshMessage({ reversalId: unique() }),
    'POST /network/advices': () => freshMessage({ ...money, adviceId: unique() }),
    'POST /network/clearings': async () => {
      const { body } = await freshMessage({ ...money, clearingId: unique() })
      return { body: { clearings: [body] } }
    },
    [`POST ${t}/simulator/reversals`]: () => freshMessage(),
    ...Object.fromEntries(
      ['increments', 'advices', 'clearings', 'refunds'].map((messages) => [
        `POST ${t}/simulator/${messages}`,
        () => freshMessage(money),
      ]),
    ),
    [`GET ${t}/payments/:paymentId`]: forcedPayment,
    'GET /cards/:publicToken/payments/:paymentId': forcedPayment,
    [`PUT ${t}/cards/:publicToken/controls`]: async () => ({
      ids: await freshCard(),
      body: controls,
    }),
    [`POST ${t}/cards/:publicToken/controls/explain`]: async () => ({
      ids: await freshCard(),
      body: { ...money, entryMode: 'chip', merchant: { id: 'SHOP42' } },
    }),
    [`POST ${t}/cards/:publicToken/controls/back-test`]: async () => ({
      ids: await freshCard(),
      body: { from: '2026-01-01T00:00:00Z', to: new Date().toISOString() },
    }),
    'POST /products/:productId/controls/back-test': () => ({
      ids: { productId: '1001' },
      body: { from: '2026-01-01T00:00:00Z', to: new Date().toISOString() },
    }),
    'PUT /products/:productId/controls': async () => {
      const { json } = await service.call('GET', '//products/1001/controls', asAdmin)
      return { ids: { productId: '1001' }, body: { ...controls, version: json.version } }
    },
    'POST /sandbox/authorizations': async () => ({ body: await freshCard() }),
    'POST /sandbox/clock': () => ({ body: { now: new Date(Date.now() + 60_000).toISOString() } }),
  }
})

/** Routes that nothing here makes do what they are there for, and why that leaves nothing out. */
const refusedHere: Readonly<Record<string, string>> = {
  'POST /keys/master-key/rotate': 'a second master key is in no file; test/operations/keys does it',
  'POST /keys/import': 'needs a zone master key on both sides; test/operations/keys/travel does it',
  'POST /keys/export': 'likewise',
  'POST /keys/:key/versions/:version/retire': 'nothing has outlived its successor',
  'POST /keys/:key/versions/:version/delete': 'likewise',
  'GET /approvals/:approvalId': 'nothing waits here; test/operations/approvals does it',
  'POST /approvals/:approvalId/approve': 'likewise, and a person alone may',
  'POST /approvals/:approvalId/refuse': 'likewise',
  'POST /approvals/:approvalId/withdraw': 'likewise',
  'POST /approvals/:approvalId/break-glass': 'likewise',
  'POST /clients/:clientId/confirm': 'takes a number alone; test/operations/keys does it',
  'POST /keys/zones/retire': 'takes a name that was checked when the key was made',
  'POST /audit/successor': 'the log can be signed; its own test refuses that first',
  'POST /thr/processor/webhooks/:webhookId/deliveries/:deliveryId/resend': 'nothing was delivered',
  'POST /thr/processor/decision-endpoint/activate':
    'nothing answers the ping; test/operations/decisions does it',
  'POST /thr/processor/decision-endpoint/rollback': 'no version was in force; likewise',
  'GET /thr/processor/decisions/:decisionId': 'nobody was asked; likewise',
  'POST /thr/processor/decisions/:decisionId/answer': 'likewise',
  'POST /thr/processor/decisions/:decisionId/replay': 'likewise',
  'POST /clients/:clientId/webhooks/:webhookId/deliveries/:deliveryId/resend': 'likewise',
}

const freshEntry = async (): Promise<{ entryId: string }> => {
  const given = { ...asAdmin, body: entryOf(unique()) }
  return (await service.call('POST', '//component-entries', given)).json
}

const freshPerson = async (): Promise<{ personId: string }> => {
  const identity = { issuer: 'https://issuer.example', subject: unique() }
  const personId = derivePersonId(identity)
  const person = { ...identity, personId, name: 'Somebody', roles: ['viewer'] }
  await upsertPerson(service.database, person)
  return { personId }
}

let ports = 0
/** Each at an address of its own; nothing here brings them up. */
const link = (linkName: string) => {
  ports += 1
  return {
    linkName,
    networkId: 'demo-network',
    direction: 'listen',
    host: '127.0.0.1',
    port: ports,
    profile: 'sandbox',
    peers: ['10.0.0.1'],
  }
}
const freshLink = async (): Promise<{ linkName: string }> => {
  const { json } = await service.call('POST', '//links', { ...asAdmin, body: link(unique()) })
  return { linkName: json.linkName }
}

const callerOf = (listener: string, url: string) => {
  if (listener === 'public') return 'client'
  return url.startsWith('/network') ? 'network' : 'admin'
}

const idsOf = async (url: string): Promise<Record<string, string>> => ({
  ...(url.includes(':publicToken') && (await freshCard())),
  ...(url.includes(':webhookId') && (await freshWebhook())),
  clientId: 'demo-client',
  productId: '1001',
  key: 'cvk',
  version: '9',
  entryId: 'x',
  kid: 'k',
  code: 'not_found',
})

interface Sent {
  readonly body?: object | undefined
  readonly headers?: Readonly<Record<string, string>>
  readonly ids?: Readonly<Record<string, string>>
  readonly query?: string
}

async function send({ listener, method, url }: Route, sent: Sent): Promise<Answer> {
  const { ids = {} } = sent
  const path = url.replace(/:(\w+)/g, (_, name) => encodeURIComponent(ids[name] ?? 'x'))
  const answer = await service.call(method, `/${path}${sent.query ?? ''}`, {
    listener,
    as: callerOf(listener, url),
    headers: sent.headers ?? {},
    ...(sent.body !== undefined && method !== 'GET' && { body: sent.body }),
  })
  answers.push(answer.text)
  return answer
}

async function baseOf(route: Route): Promise<Sent & { ids: Record<string, string> }> {
  const base: Sent = (await bases[`${route.method} ${route.url}`]?.()) ?? {}
  return { ...base, ids: { ...(await idsOf(route.url)), ...base.ids } }
}

/** A body with a value at a place of it; what is on the way there is made. */
function withValue(body: object | undefined, way: readonly string[], value: unknown): object {
  const [name = '', ...rest] = way
  const inner = rest.length === 0 ? value : withValue(Reflect.get(body ?? {}, name), rest, value)
  if (name !== '0') return { ...body, [name]: inner }
  return [inner]
}

const headersFor = (name: string): Record<string, string> => ({
  'x-request-id': panFor(`${name} X-Request-Id`).replace(/(\d{4})(?=\d)/g, '$1.'),
  'idempotency-key': `key:${panFor(`${name} Idempotency-Key`)}`,
  'user-agent': panFor(`${name} User-Agent`),
  referer: `https://a.example/${panFor(`${name} Referer`)}`,
  'last-event-id': panFor(`${name} Last-Event-ID`),
  'x-forwarded-for': panFor(`${name} X-Forwarded-For`),
  cookie: `pan=${panFor(`${name} Cookie`)}`,
  traceparent: `00-${panFor(`${name} traceparent`).padStart(32, '0')}-b7ad6b7169203331-01`,
  tracestate: `a=${panFor(`${name} tracestate`)}`,
})

/** A card number in every place of a route that takes text, one place at a time. */
async function fill(route: Route): Promise<void> {
  const name = `${route.method} ${route.url}`
  const base = await baseOf(route)
  const { status } = await send(route, { ...base, headers: headersFor(name) })
  done.set(name, (done.get(name) ?? new Set()).add(status))
  for (const { isSecret, way } of listLeaves(route.schema.body)) {
    const at = `${name} /${way.join('/')}`
    const fresh = await baseOf(route)
    const value = isSecret ? pinFor(at) : panFor(at)
    if (networkIds.has(way.at(-1) ?? '')) await becomeCardNumber(value)
    await send(route, { ...fresh, body: withValue(fresh.body, way, value) })
    // A number where text belongs is refused, and so is the text that follows it.
    await send(route, {
      ...fresh,
      body: withValue(fresh.body, way, Number(panFor(`${at} number`))),
    })
  }
  if (route.schema.body) {
    const body = { ...base.body, [panFor(`${name} member`)]: pinFor(`${name} member`) }
    await send(route, { ...base, body })
    await send(route, { ...base, body: { ...base.body, jwks: { kid: panFor(`${name} kid`) } } })
  }
  for (const { way } of listLeaves(route.schema.querystring)) {
    await send(route, {
      ...base,
      query: `?${way.join('.')}=${panFor(`${name} ?${way.join('.')}`)}`,
    })
  }
  await send(route, { ...base, query: `?${panFor(`${name} ?`)}=${panFor(`${name} ?=`)}` })
  for (const { way } of listLeaves(route.schema.params)) {
    const [parameter = ''] = way
    const ids = { ...base.ids, [parameter]: panFor(`${name} :${parameter}`) }
    await send(route, { ...base, ids })
  }
}

/** Ids of a network, which only the number of a card is refused for. */
const networkIds = new Set(['reference', 'reversalId', 'adviceId', 'clearingId', 'messageKey'])

/** Makes a number that of a card, as far as look-ups can tell. */
async function becomeCardNumber(digits: string): Promise<void> {
  const [known] = await service.issuing.hsm.fingerprintPan(new Pan(digits))
  assert.ok(known)
  const { publicToken } = await freshCard()
  await sql(
    service.database,
    `insert into pan_fingerprint (pan_fingerprint, public_token, key_version)
     values (decode($1, 'hex'), $2, $3)`,
    [Buffer.from(known.fingerprint).toString('hex'), publicToken, known.keyVersion],
  )
}

/** How digits may lie somewhere: as text, with separators, and as bytes that are shown in hex. */
const spellings = [panPrefix, pinPrefix].flatMap((prefix) => [
  new RegExp(`${[...prefix].join('[-_. ]?')}(?:[-_. ]?\\d){6,10}`, 'g'),
  new RegExp(`${Buffer.from(prefix).toString('hex')}(?:3\\d){6,10}`, 'g'),
])

/** Sealed bytes are random, and may begin like any number: what counts was issued here. */
const found = (text: string): string[] =>
  spellings
    .flatMap((spelling) => text.match(spelling) ?? [])
    .map((match) => match.replaceAll(/[-_. ]/g, ''))
    .map((match) => (/^3\d3\d3\d/.test(match) ? Buffer.from(match, 'hex').toString() : match))
    .flatMap((digits) => [digits.slice(0, 16), digits.slice(0, 12)])
    .filter((digits) => issued.has(digits))

async function rowsOf(table: string): Promise<string> {
  const rows = await sql<{ row: string }>(
    service.database,
    `select t::text as "row" from ${table} t`,
  )
  return rows.map(({ row }) => row).join('\n')
}

test('a card number or PIN comes to rest nowhere, whatever place of whatever route it was put into', async () => {
  for (const route of routes) await fill(route)
  await askForTokens()
  assert.ok(issued.size > 500, 'every route has its places')

  const seen: string[] = []
  const look = (where: string, text: string) => {
    for (const digits of new Set(found(text))) seen.push(`${where}: ${issued.get(digits)}`)
  }
  for (const name of await tableNames()) look(`table ${name}`, await rowsOf(name))
  look('log', lines.join('\n'))
  look('answers', answers.join('\n'))
  const metrics = await service.call('GET', '//metrics', { listener: 'private', token: null })
  look('metrics', metrics.text)
  assert.deepEqual(seen, [])

  assert.ok(found(`a ${panFor('the search')} b`).length === 1, 'the search finds what is there')
  assert.ok(found(Buffer.from(panFor('bytes')).toString('hex')).length === 1)
  assert.ok(lines.length > 500 && lines.some((line) => line.includes('"answered"')))
  const idle = [...done].filter(([, statuses]) => ![...statuses].some((each) => each < 300))
  assert.deepEqual(
    idle.map(([name]) => name).filter((name) => !(name in refusedHere)),
    [],
    'every route did what it is there for',
  )
})

test('an idempotency key is kept nowhere as its caller wrote it', async () => {
  const key = 'order-of-ana-lim-at-calle-mayor'
  const headers = { 'idempotency-key': key }
  const first = await service.call('POST', '/cards', { body: newCard(), headers })
  const again = await service.call('POST', '/cards', { body: newCard(), headers })
  assert.equal(again.headers['idempotency-replayed'], 'true')
  assert.equal(again.text, first.text)
  const hex = Buffer.from(key).toString('hex')
  for (const name of await tableNames()) {
    const rows = await rowsOf(name)
    assert.ok(!rows.includes(key) && !rows.includes(hex), name)
  }
  assert.ok(!lines.some((line) => line.includes(key)))
})

test('a request id that may be a card number is recorded as a hash', async () => {
  const { publicToken } = await service.createCard()
  // Luhn-valid by chance: 532653032864.
  const harmless = ['harmless-1', '87cbc1b5-527c-4f8c-b532-653032864aaf']
  const requestIds = ['4000001234567899', 'req_4000.0012.3456.7899', ...harmless]
  for (const requestId of requestIds) {
    const headers = { 'x-request-id': requestId }
    const path = `/card-pin/${publicToken}/pin`
    const shown = await service.call('GET', path, { headers })
    const refused = await service.call('GET', '/cards/1', { headers })
    assert.equal(shown.headers['x-request-id'], requestId)
    assert.equal(refused.headers['x-request-id'], requestId)
    const [row] = await sql<{ requestId: string }>(
      service.database,
      `select request_id as "requestId" from event where type = 'pin.revealed'
       and public_token = $1 order by sequence desc limit 1`,
      [publicToken],
    )
    assert.equal(row?.requestId, refused.json.requestId, 'the problem tells what is on record')
    const line = lines.findLast((each) => each.includes('"answered"')) ?? '{}'
    assert.equal(JSON.parse(line).requestId, row?.requestId)
    if (harmless.includes(requestId)) assert.equal(row?.requestId, requestId)
    else assert.match(String(row?.requestId), /^hash-[A-Za-z0-9_-]{22}$/)
  }
})

const tableNames = async (): Promise<string[]> => {
  const rows = await sql<{ name: string }>(
    service.database,
    `select tablename as "name" from pg_tables where schemaname = 'public'`,
  )
  return rows.map(({ name }) => name)
}

/** Every member of the token endpoint, which has no schema of its own. */
async function askForTokens(): Promise<void> {
  const members = [
    'grant_type',
    'client_id',
    'client_secret',
    'scope',
    'resource',
    'client_assertion',
  ]
  for (const member of [...members, 'client_assertion_type', 'redirect_uri']) {
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: 'demo-client',
      client_secret: 'x',
      [member]: panFor(`POST /oauth/token ${member}`),
    })
    const basic = Buffer.from(`${panFor('Basic user')}:${panFor('Basic password')}`)
    for (const authorization of [
      null,
      `Basic ${basic.toString('base64')}`,
      `Bearer ${panFor('Bearer')}`,
    ]) {
      const { payload } = await service.publicServer.inject({
        method: 'POST',
        url: '/oauth/token',
        headers: {
          ...headersFor('POST /oauth/token'),
          host: '127.0.0.1:8080',
          'content-type': 'application/x-www-form-urlencoded',
          ...(authorization && { authorization }),
        },
        payload: form.toString(),
      })
      answers.push(payload)
    }
  }
}
