import { randomUUID } from 'node:crypto'
import { keepRsaKeys } from '../operations/card-data/service.ts'
import { administerOf, askToken, newProduct } from '../operations/clients/administer.ts'
import {
  type DeliveryService,
  openDeliveryService,
} from '../operations/webhooks/delivery-service.ts'
import { openPostgres } from '../support/postgres.ts'
import { type CallerName, openServerDatabase } from '../support/service.ts'
import { until } from '../support/until.ts'

/** What a fuzzed service holds, and the placeholders that stand for it. */

export interface World {
  readonly service: DeliveryService
  /** Fills in the placeholders of a text. */
  readonly fill: (text: string) => string
  /** Makes anew what earlier requests may have closed or deleted. */
  readonly renew: () => Promise<void>
  readonly tokenOf: (as: CallerName | 'nobody') => string
}

export const openWorld = async (isOnPostgres: boolean): Promise<DeliveryService> => {
  const service = await openDeliveryService(
    isOnPostgres ? { database: (await openServerDatabase(await openPostgres())).database } : {},
  )
  await keepRsaKeys(service)
  return service
}

const callers = ['client', 'otherClient', 'network', 'admin'] as const

/** Not the one of `service.token`, which would expire while a long run is under way. */
async function freshToken({ sandbox, ...service }: DeliveryService, as: CallerName) {
  if (!sandbox) throw new Error('This is no sandbox.')
  const { clientId, clientSecret } = as === 'client' ? sandbox : sandbox[as]
  return (await askToken({ ...service, sandbox }, clientId, clientSecret)).token
}

const entry = {
  family: 'zone-master',
  key: 'zmk-new',
  algorithm: 'AES',
  lengthBytes: 32,
  componentCount: 2,
  keyCheckValue: 'ABCDEF',
}

/** Makes some of everything that a path or a body can name. */
export async function settle(service: DeliveryService): Promise<World> {
  const administer = administerOf(service)
  let webhookId = (await service.createWebhook('http://127.0.0.1:9/')).webhookId
  let cards: readonly string[] = []
  let entryId = ''
  const other = await service.createWebhook('http://127.0.0.1:9/', ['*'], 'otherClient')
  const closed = await service.createCard()
  await service.call('PUT', `/cards/${closed.publicToken}/status`, {
    body: { cardStatusCode: '46' },
  })
  const another = await service.createCard({ cardProduct: 2001 }, { as: 'otherClient' })
  await administer('POST', '/products', newProduct({ productId: 7001, bin: '47000012' }))
  await administer('POST', '/clients', {
    clientId: 'fuzz-client',
    clientName: 'Fuzz',
    kind: 'client',
    scopes: ['cards.read'],
    productIds: [7001],
  })
  await administer('POST', '/zones', { clientId: 'fuzz-network', clientName: 'Fuzz' })
  await administer('POST', '/keys', { family: 'zone-master', key: 'zmk-fuzz' })
  await administer('POST', '/keys', {
    family: 'zone',
    key: 'zone-fuzz',
    clientId: 'fuzz-network',
    pinBlockFormats: ['ISO_FORMAT_0'],
    exportable: true,
  })
  const [event] = await eventsOf(service, 'client')
  const [otherEvent] = await eventsOf(service, 'otherClient')
  const deliveries = await service.call('GET', `/webhooks/${webhookId}/deliveries`)
  // From now on only what is asked for happens.
  await service.stopDelivery()
  let count = 0
  const names: Readonly<Record<string, () => string>> = {
    card: () => cards[count++ % cards.length] ?? '',
    closed: () => closed.publicToken,
    other: () => another.publicToken,
    webhook: () => webhookId,
    otherWebhook: () => other.webhookId,
    event: () => event?.id ?? '',
    otherEvent: () => otherEvent?.id ?? '',
    delivery: () => deliveries.json.at(-1).deliveryId,
    entry: () => entryId,
    unique: () => randomUUID(),
    fresh: () => randomUUID().slice(0, 8),
    now: () => new Date(Date.now() + 1_000).toISOString(),
    pan: () => '4000000000000002',
    component: () => 'AB'.repeat(32),
    jwk: () => 'no key',
  }
  const fillNames = (text: string): string =>
    text.replaceAll(/@([a-zA-Z]+)@/g, (whole, name: string) => names[name]?.() ?? whole)
  const fill = (text: string): string =>
    fillNames(
      text.replaceAll(/@cursor:([\w-]+)@/g, (_, position: string) =>
        base64url(fillNames(Buffer.from(position, 'base64url').toString())),
      ),
    )
  const tokens = new Map<string, string>([['nobody', 'eyJ.no.token']])
  const renew = async () => {
    for (const as of callers) tokens.set(as, await freshToken(service, as))
    await administer('PATCH', '/products/1001', {
      active: true,
      cardTypes: ['Virtual', 'Physical'],
    })
    const products = [1001, 1001, 1002, 1003, 1001]
    const made = products.map((cardProduct) => service.createCard({ cardProduct }))
    cards = (await Promise.all(made)).map(({ publicToken }) => publicToken)
    const webhooks: { webhookId: string }[] = (await service.call('GET', '/webhooks')).json
    // A client has at most twenty.
    for (const old of webhooks) await service.call('DELETE', `/webhooks/${old.webhookId}`)
    webhookId = (await service.createWebhook('http://127.0.0.1:9/')).webhookId
    await administer('PATCH', '/clients/fuzz-client', { active: true })
    entryId = (await administer('POST', '/component-entries', entry)).json.entryId
  }
  return { service, fill, renew, tokenOf: (as) => tokens.get(as) ?? '' }
}

const base64url = (text: string): string => Buffer.from(text).toString('base64url')

const eventsOf = async (
  service: DeliveryService,
  as: 'client' | 'otherClient',
): Promise<{ id: string }[]> => {
  let events: { id: string }[] = []
  await until(async () => {
    events = (await service.call('GET', '/events', { as })).json
    return events.length > 0
  })
  return events
}
