import type { Controls } from '../../domain/controls.ts'
import type { EntryMode } from '../../domain/entry-mode.ts'
import type { ProductId, PublicToken } from '../../domain/identifiers.ts'
import type { TransactionType } from '../../domain/transaction.ts'
import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

const declare = loadStatements(import.meta.url)

/** A recorded authorization, as far as spending controls see it. */
export interface DecidedRow {
  readonly publicToken: PublicToken
  readonly authorizationId: string
  readonly entryMode: EntryMode
  readonly transactionType: TransactionType
  /** The amount that the card was charged; null if the network gave no amount. */
  readonly amount: number | null
  readonly currency: string | null
  /** The part of it that was charged for cash; null if not known. */
  readonly cashCharge: number | null
  readonly merchantId: string | null
  readonly categoryCode: string | null
  readonly country: string | null
  readonly responseCode: string
  /** The approved part of the amount; null unless it was approved in part. */
  readonly approvedAmount: number | null
  /** The control that declined; null if none did. */
  readonly control: string | null
}

/** The ids between which authorizations are read, without both. */
export interface IdRange {
  readonly after: string
  readonly until: string
}

/** The length of a full page. */
export const decidedPage = 1_000

const selectOfCard = declare<IdRange & { readonly publicToken: PublicToken }, DecidedRow>(
  'list_decided_of_card',
)

/** Lists a page of the answered authorizations of a card, oldest first. */
export const listDecidedOfCard = (
  connection: Connection,
  publicToken: PublicToken,
  { after, until }: IdRange,
): Promise<DecidedRow[]> => selectOfCard(connection, { publicToken, after, until })

const selectOfClient = declare<IdRange & { readonly clientId: string }, DecidedRow>(
  'list_decided_of_client',
)

/** Lists a page of the answered authorizations of all cards of a client, oldest first. */
export const listDecidedOfClient = (
  connection: Connection,
  clientId: string,
  { after, until }: IdRange,
): Promise<DecidedRow[]> => selectOfClient(connection, { clientId, after, until })

const selectNext = declare<{ readonly after: string }, { readonly clientId: string }>(
  'find_next_client',
)

/** Finds the client whose id follows another one, which may be empty. */
export const findNextClient = async (
  connection: Connection,
  after: string,
): Promise<string | null> => firstRow(await selectNext(connection, { after }))?.clientId ?? null

/** The product of a card, and the card's own controls. */
interface DecidedCard {
  readonly publicToken: PublicToken
  readonly productId: ProductId
  readonly controls: Controls | null
}

const selectCards = declare<
  { readonly publicTokens: readonly PublicToken[] },
  Omit<DecidedCard, 'controls'> & { readonly controls: string | null }
>('list_decided_cards')

/** Lists cards with their products and their own controls. */
export async function listDecidedCards(
  connection: Connection,
  publicTokens: readonly PublicToken[],
): Promise<DecidedCard[]> {
  const rows = await selectCards(connection, { publicTokens })
  return rows.map(({ controls, ...card }) => ({
    ...card,
    controls: controls === null ? null : (JSON.parse(controls) as Controls),
  }))
}
