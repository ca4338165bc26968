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
import type { Connection, Database } from '../../src/storage/engine/database.ts'
import { openPglite } from '../../src/storage/engine/pglite.ts'
import { grantProduct, insertProduct } from '../../src/storage/products/products.ts'
import { computeKeyHash } from './identifiers.ts'
import { ask, type IssuedCard, issueCard, otherDigits, pinTry } from './network.ts'
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
    renewalType: 'Manual',
    renewalEarliestDays: 90,
    renewalLeadDays: 45,
    renewalGraceMonths: 3,
    pinTryLimit: 3,
    cvvTryLimit: 3,
    cvk: 'cvk',
    pvk: 'pvk',
    active: true,
    chip: null,
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

/** A card with its PIN blocked. */
export async function blockedCard(service: TestService): Promise<IssuedCard> {
  const card = await issueCard(service)
  await blockPin(service, card)
  return card
}

/**
 * Uses up the tries of a card, but for some, without a comparison and without an event.
 * @param left how many tries remain.
 */
export async function useTries(
  database: Connection,
  publicToken: PublicToken | string,
  kind: 'pin' | 'cvv',
  left = 0,
): Promise<void> {
  await sql(
    database,
    `update try_counter set spent = restored + try_limit - $3::integer
     where public_token = $1 and kind = $2`,
    [publicToken, kind, left],
  )
}

/** Makes an idempotency key of a client older: `'25 hours'`. */
export async function ageIdempotencyKey(
  service: Pick<TestService, 'database' | 'issuing'>,
  idempotencyKey: string,
  age: string,
  clientId = 'demo-client',
): Promise<void> {
  await sql(
    service.database,
    'update idempotency_record set created_at = now() - $2::interval where key_hash = $1',
    [await computeKeyHash(service, idempotencyKey, clientId), age],
  )
}

/** Makes every idempotency key without an answer older than a process may take: 31 seconds. */
export async function ageUnansweredKeys(database: Connection): Promise<void> {
  await sql(
    database,
    `update idempotency_record set created_at = now() - interval '31 seconds' where answer is null`,
  )
}

/** Makes the authorizations of a card older: `'401 days'`. */
export async function ageAuthorizations(
  database: Connection,
  publicToken: PublicToken,
  age: string,
  reference?: string,
): Promise<void> {
  await sql(
    database,
    `update authorization_request set requested_at = now() - $2::interval
     where public_token = $1 and reference = coalesce($3, reference)`,
    [publicToken, age, reference ?? null],
  )
}

/**
 * Makes the second version of a key active, as some time after its rotation began. A service knows
 * it after `refreshKeys`.
 * @param since for how long it has been active: `'2 days'`.
 */
export async function activateKey(
  database: Connection,
  keyName: string,
  since = '0 seconds',
): Promise<void> {
  const rows = await sql(
    database,
    `update hsm_key set state = 'active', activated_at = now() - $2::interval
     where key_name = $1 and key_version = 2 returning key_name`,
    [keyName, since],
  )
  assert.equal(rows.length, 1, `There is no second version of ${keyName}.`)
}

/** Makes another one the requester of an approval. */
export async function setRequester(
  database: Connection,
  approvalId: string,
  requesterId: string,
): Promise<void> {
  await sql(
    database,
    `update approval set requester_id = $2 where approval_id = $1::uuid returning approval_id`,
    [approvalId, requesterId],
  )
}

/** The id of a person who has signed in, by name. */
export async function personNamed(database: Connection, name: string): Promise<string> {
  const [person] = await sql<{ id: string }>(
    database,
    'select person_id as id from person where display_name = $1',
    [name],
  )
  assert.ok(person, `${name} has not signed in.`)
  return person.id
}

/** Makes an approval older: `'24 hours'`. */
export async function ageApproval(
  database: Connection,
  approvalId: string,
  age: string,
): Promise<void> {
  await sql(
    database,
    `update approval set requested_at = requested_at - $2::interval
     where approval_id = $1::uuid returning approval_id`,
    [approvalId, age],
  )
}

/** Lets every approved act be carried out now, whenever it was to be tried again. */
export async function carryOutNow(database: Connection): Promise<void> {
  await sql(
    database,
    `update approval set due_at = now() where state = 'approved' returning approval_id`,
  )
}

/** The embedded database that a program has left in its data directory. */
export const openLeftDatabase = (dataDir: string): Promise<Database> =>
  openPglite(join(dataDir, 'pgdata'))
