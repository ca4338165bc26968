import type { Connection } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

const declare = loadStatements(import.meta.url)

/** The sequences and types of acts that entries contain for a card. */
export interface CardEntries {
  readonly publicToken: string
  readonly sequences: readonly number[]
  readonly acts: readonly string[]
}

const selectEntries = declare<{ log: number; from: number; end: number }, CardEntries>(
  'list_card_entries',
)

/** Lists the cards of a range of entries. */
export const listCardEntries = (
  connection: Connection,
  log: number,
  [from, end]: readonly [number, number],
): Promise<CardEntries[]> => selectEntries(connection, { log, from, end })

/** The state of a card by its entries, and the result of its last check. */
export interface CardDigestRow {
  readonly publicToken: string
  readonly enteredSequence: number
  /** In the order of the groups of columns. */
  readonly changedAt: readonly number[]
  readonly digests: readonly Uint8Array[]
  readonly digestedSequence: number
  readonly awaitedSequence: number | null
}

const selectDigests = declare<{ publicTokens: readonly string[] }, CardDigestRow>(
  'find_card_digests',
)

export const listCardDigestRows = (
  connection: Connection,
  publicTokens: readonly string[],
): Promise<CardDigestRow[]> => selectDigests(connection, { publicTokens })

const selectDigestsAfter = declare<
  { after: string; upTo: string | null; limit: number },
  CardDigestRow
>('list_card_digests')

/** Lists them between two tokens, in order. */
export const listCardDigests = (
  connection: Connection,
  after: string,
  upTo: string | null,
  limit: number,
): Promise<CardDigestRow[]> => selectDigestsAfter(connection, { after, upTo, limit })

const selectAwaited = declare<{ limit: number }, CardDigestRow>('list_awaited_cards')

/** Lists cards with an event that was missing when they were checked. */
export const listAwaitedCards = (connection: Connection, limit: number): Promise<CardDigestRow[]> =>
  selectAwaited(connection, { limit })

const upsertDigests = declare<{
  publicTokens: readonly string[]
  enteredSequences: readonly number[]
  /** Each list as JSON. */
  changes: readonly string[]
  digests: readonly string[]
  digestedSequences: readonly number[]
  awaitedSequences: readonly (number | null)[]
}>('write_card_digests')

/** Replaces whole rows. */
export async function writeCardDigests(
  connection: Connection,
  rows: readonly CardDigestRow[],
): Promise<void> {
  if (rows.length === 0) return
  await upsertDigests(connection, {
    publicTokens: rows.map(({ publicToken }) => publicToken),
    enteredSequences: rows.map(({ enteredSequence }) => enteredSequence),
    changes: rows.map(({ changedAt }) => JSON.stringify(changedAt)),
    digests: rows.map(({ digests }) =>
      JSON.stringify(digests.map((each) => Buffer.from(each).toString('hex'))),
    ),
    digestedSequences: rows.map(({ digestedSequence }) => digestedSequence),
    awaitedSequences: rows.map(({ awaitedSequence }) => awaitedSequence),
  })
}

const deleteDigests = declare<{ publicTokens: readonly string[] }>('remove_card_digests')

export const removeCardDigests = async (
  connection: Connection,
  publicTokens: readonly string[],
): Promise<void> => {
  await deleteDigests(connection, { publicTokens })
}

/** The digests of a card, one for each group of its columns. */
export interface DigestedCard {
  readonly publicToken: string
  readonly lastSequence: number
  readonly digests: readonly Uint8Array[]
}

const selectCards = declare<{ after: string; limit: number }, DigestedCard>('list_digested_cards')

/** Lists cards after a token, by token. */
export const listDigestedCards = (
  connection: Connection,
  after: string,
  limit: number,
): Promise<DigestedCard[]> => selectCards(connection, { after, limit })
