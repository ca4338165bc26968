import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { makeProductId, type PublicToken } from '../../src/domain/identifiers.ts'
import type { Product } from '../../src/domain/product.ts'
import { hashClientSecret } from '../../src/operations/clients/credentials.ts'
import {
  findAdministeredClient,
  type NewClient,
  updateClient,
  upsertClient,
} from '../../src/storage/clients/clients.ts'
import type { Database } from '../../src/storage/engine/database.ts'
import { openPglite } from '../../src/storage/engine/pglite.ts'
import { grantProduct, insertProduct } from '../../src/storage/products/products.ts'
import { ask, type IssuedCard, otherDigits, pinTry } from './network.ts'
import { sql, type TestService } from './service.ts'

/**
 * What tests begin with: clients, products and cards in a state that a call would not bring about,
 * or only by many steps. A test names what it needs, and knows nothing of tables.
 */

/** A client, with a secret or with keys. @returns its id. */
export async function client(
  database: Database,
  {
    active = true,
    secret,
    ...members
  }: Partial<NewClient> & { readonly secret?: string; readonly active?: boolean } = {},
): Promise<string> {
  const clientId = members.clientId ?? `client-${randomUUID()}`
  await upsertClient(database, {
    clientName: 'A client',
    kind: 'client',
    scopes: ['cards.read'],
    secretHash: secret === undefined ? null : hashClientSecret(secret),
    jwks: null,
    ...members,
    clientId,
  })
  if (!active) await setClientActive(database, clientId, false)
  return clientId
}

/** Enables or disables a client, as its administrator does. */
export async function setClientActive(
  database: Database,
  clientId: string,
  active: boolean,
): Promise<void> {
  const found = await findAdministeredClient(database, clientId)
  assert.ok(found, `There is no client ${clientId}.`)
  await updateClient(database, { ...found, active })
}

/** A product that a client may issue. */
export async function product(
  database: Database,
  { productId: number, ...members }: Partial<Omit<Product, 'productId'>> & { productId: number },
  clientId = 'demo-client',
): Promise<void> {
  const productId = makeProductId(number)
  await insertProduct(database, {
    productName: 'Test product',
    schemeName: 'Visa',
    bin: '40000220',
    currencyCode: 'EUR',
    cardTypes: ['Physical', 'Virtual'],
    validityMonths: 48,
    pinLength: 4,
    pinRevealable: true,
    refuseWeakPins: true,
    pinTryLimit: 3,
    cvvTryLimit: 3,
    cvk: 'cvk',
    pvk: 'pvk',
    active: true,
    ...members,
    productId,
  })
  await grantProduct(database, clientId, productId)
}

/** Blocks a card's PIN by three wrong ones. */
export async function blockPin(service: TestService, card: IssuedCard): Promise<void> {
  const wrong = pinTry(service, card, otherDigits(card.pin))
  for (let tries = 0; tries < 3; tries += 1) await ask(service, wrong)
}

/**
 * Makes a card one that expired at the end of a month.
 * @param expiryDate the last day of that month.
 */
export async function expireCard(
  database: Database,
  publicToken: PublicToken | string,
  expiryDate = '2020-01-31',
): Promise<void> {
  await sql(
    database,
    `update card set start_date = '2019-01-01', expiry_date = $2::date where public_token = $1`,
    [publicToken, expiryDate],
  )
}

/** The embedded database that a program has left in its data directory. */
export const openLeftDatabase = (dataDir: string): Promise<Database> =>
  openPglite(join(dataDir, 'pgdata'))
