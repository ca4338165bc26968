import type { ProductId, PublicToken } from '../../domain/identifiers.ts'
import type { CardType, RenewalType } from '../../domain/product.ts'
import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

const declare = loadStatements(import.meta.url)

/** A plastic whose notice is due. */
interface DueNotice {
  readonly publicToken: PublicToken
  readonly plasticNumber: number
  /** `YYYY-MM-DD` */
  readonly expiryDate: string
}

interface Notices {
  /** How many were given before. */
  readonly noticesGiven: number
  /** `YYYY-MM-DD` */
  readonly until: string
  /** The last notice before, by expiry and token. */
  readonly afterExpiryDate: string
  readonly afterToken: string
  readonly limit: number
}

const selectNotices = declare<Notices, DueNotice>('list_due_notices')

/** Lists current plastics that expire until a day, by their notices so far. */
export const listDueNotices = (connection: Connection, notices: Notices): Promise<DueNotice[]> =>
  selectNotices(connection, notices)

const give = declare<
  Omit<DueNotice, 'expiryDate'> & { readonly noticesGiven: number; readonly today: string },
  { isDone: boolean }
>('give_renewal_notice')

/** Gives a notice once, however many processes give it. */
export const giveRenewalNotice = async (
  connection: Connection,
  { plasticNumber, publicToken }: DueNotice,
  noticesGiven: number,
  today: string,
): Promise<void> => {
  await give(connection, { publicToken, plasticNumber, noticesGiven, today })
}

interface RenewedProduct {
  readonly productId: ProductId
  readonly renewalType: RenewalType
  readonly renewalLeadDays: number
}

const selectProducts = declare<object, RenewedProduct>('list_products_to_renew')

/** Lists how the cards of each product are renewed. */
export const listProductsToRenew = (connection: Connection): Promise<RenewedProduct[]> =>
  selectProducts(connection, {})

/** A card whose renewal is due. */
export interface CardToOrder {
  readonly publicToken: PublicToken
  readonly clientId: string
  /** `YYYY-MM-DD` */
  readonly validUntil: string
}

interface DueCards {
  readonly productId: ProductId
  readonly cardType: CardType
  /** Of the card; empty: as the product says. */
  readonly renewalType: RenewalType | ''
  readonly until: string
  readonly afterValidUntil: string
  readonly afterToken: string
  readonly limit: number
}

const selectCards = declare<DueCards, CardToOrder>('list_cards_to_renew')

/** Lists cards that expire until a day, by expiry and token. */
export const listCardsToRenew = (connection: Connection, due: DueCards): Promise<CardToOrder[]> =>
  selectCards(connection, due)

const selectNext = declare<object, { validUntil: string }>('find_next_expiry')

/** Returns the earliest last day of an open card; null without any. */
export const findNextExpiry = async (connection: Connection): Promise<string | null> =>
  firstRow(await selectNext(connection, {}))?.validUntil ?? null

/** The next plastic of a card, which the service orders. */
interface OrderedRenewal {
  readonly publicToken: PublicToken
  readonly clientId: string
  readonly plasticNumber: number
  readonly isCurrent: boolean
  readonly today: string
  readonly expiredSince: string
  readonly expiryDate: string
  /** Whether a copy of the present plastic that waits ends with it. */
  readonly endsReprint: boolean
  /** The job that orders it; null for an automatic renewal. */
  readonly jobId: string | null
  readonly requestId: string | null
}

const order = declare<OrderedRenewal, { isDone: boolean }>('order_renewal')

/**
 * Orders the next plastic of a card, with its event.
 * @returns whether it was done: not if the card has changed meanwhile.
 */
export const orderRenewal = async (
  connection: Connection,
  renewal: OrderedRenewal,
): Promise<boolean> => firstRow(await order(connection, renewal))?.isDone ?? false

const selectOfJob = declare<{ publicToken: PublicToken; jobId: string }, { isThere: boolean }>(
  'has_plastic_of_job',
)

/** Whether a job ordered a plastic of a card. */
export const hasPlasticOfJob = async (
  connection: Connection,
  publicToken: PublicToken,
  jobId: string,
): Promise<boolean> => (await selectOfJob(connection, { publicToken, jobId })).length > 0
