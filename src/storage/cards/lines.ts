import type { PlasticReason, PlasticState } from '../../domain/card-life.ts'
import type { CardStatusCode } from '../../domain/card-status.ts'
import type { DeliveryStatus } from '../../domain/delivery.ts'
import type { ProductId, PublicToken } from '../../domain/identifiers.ts'
import type { CardType } from '../../domain/product.ts'
import type { ReplacementReason } from '../../domain/replacement.ts'
import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

const declare = loadStatements(import.meta.url)

/** A plastic with the card of which it is an edition. */
export interface PlasticOfLine {
  readonly publicToken: PublicToken
  /** 0 for the first card of the line. */
  readonly generation: number
  /** The card that it replaced, and why; null for the first card. */
  readonly replacementFor: PublicToken | null
  readonly replacementReason: ReplacementReason | null
  /** Of a successor that was activated. */
  readonly activatedAt: Date | null
  readonly productId: ProductId
  readonly maskedPan: string
  readonly statusCode: CardStatusCode
  /** `YYYY-MM-DD`, the last day before the status 54. */
  readonly validUntil: string
  readonly retiredAt: Date | null
  readonly createdAt: Date
  readonly plasticNumber: number
  readonly cardType: CardType
  readonly plasticReason: PlasticReason
  readonly state: PlasticState
  /** Of a converted card: whether it is current and was not activated yet. */
  readonly isInactive: boolean
  /** `YYYY-MM-DD` */
  readonly startDate: string
  /** `YYYY-MM-DD` */
  readonly expiryDate: string
  /** Null for an edition of a virtual card. */
  readonly deliveryStatus: DeliveryStatus | null
  readonly deliveryChangedAt: Date | null
  /** How many notices of its renewal were given. */
  readonly noticesGiven: number
  readonly orderedAt: Date
  /** When it was retired or cancelled. */
  readonly endedAt: Date | null
}

interface LinePage {
  readonly lineToken: PublicToken
  /** Cards of lower generations only. */
  readonly before: number
  /** Of cards. */
  readonly limit: number
}

const select = declare<LinePage, PlasticOfLine>('list_line')

/** Lists the cards of a line with all their plastics, newest card and first plastic first. */
export const listLine = (
  connection: Connection,
  page: LinePage,
): Promise<readonly PlasticOfLine[]> => select(connection, page)

const selectToken = declare<{ publicToken: PublicToken }, { lineToken: PublicToken }>(
  'find_line_token',
)

/** Returns the first card of the line of a card; null if no card has this token. */
export const findLineToken = async (
  connection: Connection,
  publicToken: PublicToken,
): Promise<PublicToken | null> =>
  firstRow(await selectToken(connection, { publicToken }))?.lineToken ?? null
