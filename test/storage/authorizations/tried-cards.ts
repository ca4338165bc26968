import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { before, beforeEach } from 'node:test'
import type { PublicToken } from '../../../src/domain/identifiers.ts'
import type { TryKind } from '../../../src/domain/tries.ts'
import {
  type AuthorizationOrigin,
  beginAuthorization,
  type SpentTry,
} from '../../../src/storage/authorizations/begin.ts'
import * as settling from '../../../src/storage/authorizations/settle.ts'
import {
  type AnsweredAuthorization,
  type Comparison,
  type ForeseenAnswer,
  settleAuthorization,
} from '../../../src/storage/authorizations/settle.ts'
import type { Connection, Database } from '../../../src/storage/engine/database.ts'
import { newEventId } from '../../../src/storage/events/events.ts'
import type { Claim } from '../../../src/storage/idempotency/idempotency.ts'
import { parsePublicToken } from '../../support/identifiers.ts'
import { openTestDatabase, sql } from '../../support/service.ts'
import { bakery } from './transaction.ts'

/** Rows of two cards and their tries, for the statements over them. */

export let database: Database
/**
 * The card that a test is about, and one beside it, which no statement about the first may move.
 */
export let card: PublicToken
export let other: PublicToken
let cards = 0
export const origin = {
  entryMode: 'chip',
  reference: 'R-1',
  networkId: 'network',
  requestId: 'request-1',
  transaction: bakery,
}
export const clientId = 'client-1'

/** Opens a database for the tests of a file, with two cards of their own for each of them. */
export const useTriedCards = (open: () => Promise<Database> = openTestDatabase): void => {
  before(async () => {
    database = await open()
    await sql(
      database,
      `insert into product (product_id, product_name, scheme_name, bin, currency_code, card_types,
         validity_months, pin_length, pin_revealable, pin_try_limit, cvv_try_limit)
       values (1, 'Product', 'Visa', '400000', 'EUR', array['Virtual'], 48, 4, false, 3, 3)`,
    )
  })
  beforeEach(async () => {
    card = await makeCard()
    other = await makeCard()
  })
}

/** Rows alone: nothing here asks what a card holds. */
export const makeCard = async (): Promise<PublicToken> => {
  cards += 1
  const publicToken = parsePublicToken(String(4_000_000_000 + cards))
  await sql(
    database,
    `insert into card (public_token, client_id, product_id, card_type, masked_pan, encrypted_pan,
       personal_data, start_date, expiry_date, line_token, status_code, pvv, pin_key, cvk)
     values ($1, $2, 1, 'Virtual', '400000******0000', '', '', '2026-01-01', '2030-01-31', $1, '00',
       '1234', 'pvk/1', 'cvk/1')`,
    [publicToken, clientId],
  )
  await sql(
    database,
    `insert into try_counter (public_token, kind, try_limit) values ($1, 'pin', 3), ($1, 'cvv', 3)`,
    [publicToken],
  )
  return publicToken
}

/** The authorization that each try opened. */
const authorizations = new Map<string, string>()
const nameOf = ({ kind, publicToken, tryNumber }: SpentTry) => `${publicToken} ${kind} ${tryNumber}`
const authorizationOf = (spent: SpentTry): string =>
  authorizations.get(nameOf(spent)) ?? newEventId()

/**
 * Begins an authorization.
 * @returns null where its key was not free, or its original is reversed.
 */
export const spendTry = async (
  connection: Database,
  { kind, publicToken }: { readonly publicToken: PublicToken; readonly kind: TryKind },
  asked: AuthorizationOrigin,
  claim: Claim | null,
): Promise<{ readonly spent: SpentTry | null } | null> => {
  const authorizationId = newEventId()
  const begun = await beginAuthorization(
    connection,
    {
      ...asked,
      authorizationId,
      card: { publicToken },
      kind,
      currentMonth: '2026-11',
      expiryMonth: null,
      zoneKey: null,
    },
    claim,
  )
  if (begun.outcome === 'taken') return null
  if (begun.outcome !== 'spent') return { spent: null }
  authorizations.set(nameOf(begun.spent), authorizationId)
  return { spent: begun.spent }
}

export const settleMatchAndSpend = async (
  connection: Connection,
  spent: SpentTry,
  kind: TryKind,
  asked: AuthorizationOrigin,
): Promise<{ readonly remaining: number; readonly spent: SpentTry | null }> => {
  const next = { clientId: 'client-1', kind, authorizationId: newEventId() }
  const tried = { spent, authorizationId: authorizationOf(spent) }
  const settled = await settling.settleMatchAndSpend(connection, tried, next, asked)
  if (settled.spent) authorizations.set(nameOf(settled.spent), next.authorizationId)
  return settled
}

export const spend = async (publicToken = card, kind: TryKind = 'pin'): Promise<SpentTry> => {
  const begun = await spendTry(database, { publicToken, kind }, origin, null)
  assert.ok(begun?.spent)
  return begun.spent
}

/** A claim of a key, with its only hash by itself, as a settling takes it. */
export const newClaim = (keyHash: Uint8Array = randomBytes(32)) =>
  ({
    clientId,
    keyHash,
    keyHashes: [keyHash],
    claimId: randomUUID(),
    requestFingerprint: randomBytes(32),
    answer: null,
  }) as const

/** All that is stored of the tries of both cards, each row as text. */
export const stored = async (): Promise<Map<string, string>> => {
  const rows = await sql<{ key: string; value: string }>(
    database,
    `select public_token || ' ' || kind as key, to_jsonb(try_counter)::text as value
       from try_counter where public_token = any($1)
     union all
     select public_token || ' ' || kind || ' ' || try_number, to_jsonb(attempt)::text
       from attempt where public_token = any($1)
     union all
     select public_token, to_jsonb(card)::text from card where public_token = any($1)`,
    [[card, other]],
  )
  return new Map(rows.map(({ key, value }) => [key, value]))
}

/** The rows that some work changes, made or removed, by their keys; the card is `*`. */
export const movedBy = async (work: () => Promise<unknown>): Promise<string[]> => {
  const earlier = await stored()
  await work()
  const later = await stored()
  const keys = new Set([...earlier.keys(), ...later.keys()])
  return [...keys]
    .filter((key) => earlier.get(key) !== later.get(key))
    .map((key) => key.replace(card, '*'))
    .sort()
}

/** Tries of every kind and card, so that each statement has rows beside its own. */
export const spendEverywhere = async (): Promise<SpentTry[]> => {
  const spent: SpentTry[] = []
  for (const publicToken of [card, other]) {
    for (const kind of ['pin', 'cvv', 'pin', 'cvv'] as const) {
      spent.push(await spend(publicToken, kind))
    }
  }
  return spent
}

export const newEpoch = (publicToken = card): Promise<unknown> =>
  sql(
    database,
    `update try_counter set restored = spent, epoch = epoch + 1, block_reported = false
     where public_token = $1`,
    [publicToken],
  )

export const makeOlder = (seconds: number): Promise<unknown> =>
  sql(
    database,
    `update try_counter set open_since = array(
       select case since when 0 then 0 else since - $2::bigint * 1000000 end
       from unnest(open_since) with ordinality as each (since, place) order by place
     ) where public_token = $1`,
    [card, seconds],
  )

/** What is put on record of a try that came to this. */
export const recordFor = (spent: SpentTry, comparison: Comparison): AnsweredAuthorization => ({
  ...origin,
  publicToken: spent.publicToken,
  clientId: 'client-1',
  authorizationId: authorizationOf(spent),
  responseCode: { match: '00', mismatch: '55', unresolved: '96' }[comparison],
  checks: JSON.stringify([{ check: 'pin', result: comparison, afterMs: 1 }]),
  durationMs: 2,
  now: new Date(),
  eventType: comparison === 'match' ? 'authorization.approved' : 'authorization.declined',
  details: '{}',
  hold: null,
  increment: null,
  spending: null,
})

export const settle = (
  spent: SpentTry,
  comparison: Comparison,
  keyed: ForeseenAnswer | null = null,
): Promise<{ remaining: number; answer: Uint8Array | null; isOwn: boolean }> =>
  settleAuthorization(database, { spent, comparison }, recordFor(spent, comparison), keyed)

export const eventsOf = (publicToken = card): Promise<{ sequence: number; type: string }[]> =>
  sql(database, 'select sequence, type from event where public_token = $1 order by sequence', [
    publicToken,
  ])
