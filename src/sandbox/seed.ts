import { randomBytes } from 'node:crypto'
import type { BlockCipher } from '../hsm/contract/catalogue.ts'
import type { Hsm } from '../hsm/contract/hsm.ts'
import { upsertClient } from '../storage/clients/clients.ts'
import type { Database } from '../storage/engine/database.ts'
import { findSandboxSecret, insertSandboxSecret } from '../storage/engine/installation.ts'
import { hasZoneKey, insertZoneKey, type ZoneKeyRow } from '../storage/keys/zone-keys.ts'
import { findLink, findListeningLink, insertLink, updateLink } from '../storage/links/links.ts'
import { grantProduct, insertProduct } from '../storage/products/products.ts'
import * as demoData from './demo-data.ts'

interface SandboxOptions {
  readonly database: Database
  readonly hsm: Hsm
  /** Returns the stored form of a client secret. */
  hashSecret(secret: string): Uint8Array
  /** The port of the sandbox's own link; 0 without one. */
  readonly linkPort: number
}

/** The credentials of a demo client for a token. */
export interface Credentials {
  readonly clientId: string
  readonly clientSecret: string
  /** The space-separated scopes to request. */
  readonly scope: string
}

/** The displayed credentials of the demo clients. */
export interface SandboxCredentials extends Credentials {
  readonly otherClient: Credentials
  readonly network: Credentials & {
    readonly zoneKeys: readonly TestZoneKey[]
    /** The name of one of the keys on links. */
    readonly linkKey: { readonly key: string; readonly sameAs: string }
  }
  readonly admin: Credentials
  /** The address for a switch; null without a link. */
  readonly link: SandboxLink | null
}

/** A link for experiments. */
interface SandboxLink {
  readonly linkName: string
  readonly host: string
  readonly port: number
  readonly profile: string
}

interface TestZoneKey {
  readonly key: string
  readonly algorithm: BlockCipher
  /** In hex. */
  readonly value: string
}

/**
 * Stores the demo products, clients and zone keys once; every process of a sandbox shows the same
 * secrets, across restarts.
 */
export async function seedSandbox(options: SandboxOptions): Promise<SandboxCredentials> {
  const client = await seedClient(options, demoData.demoClients.client)
  const otherClient = await seedClient(options, demoData.demoClients.otherClient)
  const network = await seedClient(options, demoData.demoClients.network)
  const admin = await seedClient(options, demoData.demoClients.admin)
  for (const product of demoData.demoProducts) {
    await insertProduct(options.database, product)
    await grantProduct(options.database, client.clientId, product.productId)
  }
  await insertProduct(options.database, demoData.otherClientProduct)
  await grantProduct(options.database, otherClient.clientId, demoData.otherClientProduct.productId)
  const zoneKeys = await seedZoneKeys(options, network.clientId)
  await upsertClient(options.database, {
    ...demoData.simulatorNetwork,
    secretHash: null,
    jwks: null,
  })
  const { algorithm, keyName, pinBlockFormat } = demoData.simulatorZoneKey
  const { clientId } = demoData.simulatorNetwork
  const simulatorKey = { clientId, keyName, algorithm, pinBlockFormats: [pinBlockFormat] }
  await storeZoneKey(options, simulatorKey, () => options.hsm.generateTestZoneKey(algorithm))
  const link = await seedLink(options, network.clientId)
  return {
    ...client,
    otherClient,
    network: { ...network, zoneKeys, linkKey: demoData.demoLinkKey },
    admin,
    link,
  }
}

/** The port is that of this start; the previous one may be in use. */
async function seedLink(
  { database, linkPort }: SandboxOptions,
  networkId: string,
): Promise<SandboxLink | null> {
  const known = await findLink(database, demoData.sandboxLink.linkName)
  if (linkPort === 0 && !known) return null
  const { host, linkName, profile } = demoData.sandboxLink
  const port = linkPort || (known?.port ?? 0)
  // Another link may have the address.
  const holder = (await findListeningLink(database, { host, port })) ?? linkName
  const active = linkPort !== 0 && holder === linkName
  const link = { ...demoData.sandboxLink, networkId, port, active }
  if (!(await insertLink(database, link))) await updateLink(database, link)
  return active ? { linkName, host, port, profile } : null
}

async function seedClient(
  options: SandboxOptions,
  client: demoData.DemoClient,
): Promise<Credentials> {
  const makeSecret = () => randomBytes(32).toString('base64url')
  const clientSecret = await storedSecret(options, `client ${client.clientId}`, makeSecret)
  const secretHash = options.hashSecret(clientSecret)
  await upsertClient(options.database, { ...client, secretHash, jwks: null })
  return { clientId: client.clientId, clientSecret, scope: client.scopes.join(' ') }
}

async function seedZoneKeys(options: SandboxOptions, clientId: string): Promise<TestZoneKey[]> {
  const zoneKeys: TestZoneKey[] = []
  for (const { algorithm, keyName, pinBlockFormats } of demoData.demoZoneKeys) {
    const value = await storedSecret(options, `zone key ${keyName}`, async () =>
      Buffer.from(await options.hsm.generateTestZoneKey(algorithm)).toString('hex'),
    )
    const key = { clientId, keyName, algorithm, pinBlockFormats }
    const bytes = async () => Buffer.from(value, 'hex')
    await storeZoneKey(options, key, bytes)
    const { key: linkKey, sameAs } = demoData.demoLinkKey
    if (keyName === sameAs) await storeZoneKey(options, { ...key, keyName: linkKey }, bytes)
    zoneKeys.push({ key: keyName, algorithm, value })
  }
  return zoneKeys
}

/** Only once, since a token stores every imported key. */
async function storeZoneKey(
  { database, hsm }: SandboxOptions,
  key: Omit<ZoneKeyRow, 'keyBlock' | 'keyCheckValue'>,
  bytes: () => Promise<Uint8Array>,
): Promise<void> {
  if (await hasZoneKey(database, key.clientId, key.keyName)) return
  const imported = await hsm.importClearZoneKey(key.algorithm, await bytes())
  await insertZoneKey(database, { ...key, ...imported })
}

/** Returns a secret that the first process generated at the first start. */
async function storedSecret(
  { database, hsm }: SandboxOptions,
  secretName: string,
  make: () => string | Promise<string>,
): Promise<string> {
  if ((await findSandboxSecret(database, secretName)) === null) {
    const sealed = await hsm.sealRecord('sandbox', secretName, await make())
    await insertSandboxSecret(database, secretName, sealed)
  }
  const stored = await findSandboxSecret(database, secretName)
  if (stored === null) throw new Error('The database did not keep a sandbox secret.')
  return hsm.revealRecord('sandbox', secretName, stored)
}
