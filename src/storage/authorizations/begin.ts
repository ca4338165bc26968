import type { CardStatusCode } from '../../domain/card-status.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import type { MissingDataPolicy, ProductChip } from '../../domain/product-chip.ts'
import type { Transaction } from '../../domain/transaction.ts'
import type { TryKind } from '../../domain/tries.ts'
import type { Database } from '../engine/database.ts'
import { loadSharedStatements } from '../engine/statements.ts'
import { type Claim, type ClaimValues, claimParameters } from '../idempotency/idempotency.ts'
import { type TransactionValues, transactionParameters } from '../links/transactions.ts'
import { type AppliedControls, parseAppliedControls } from './applied-controls.ts'
import { type TransactionColumns, toColumns } from './transaction-columns.ts'

/** The members of a card that an authorization needs. */
export interface AuthorizedCard {
  readonly publicToken: PublicToken
  readonly clientId: string
  readonly productId: number
  /** Of its PAN. */
  readonly lastFour: string
  readonly customerReference: string | null
  /** Whether its client has registered an endpoint for decisions, in force or not. */
  readonly hasDecisionEndpoint: boolean
  /** How its chip works; null for a card without a chip. */
  readonly productChip: ProductChip | null
  readonly encryptedPan: Uint8Array
  readonly statusCode: CardStatusCode
  /** `YYYY-MM-DD`, of the current plastic. */
  readonly expiryDate: string
  /** `YYYY-MM-DD`, the last day before the status 54. */
  readonly validUntil: string
  /** `YYYY-MM-DD`, of the plastic that waits; null without one. */
  readonly waitingExpiryDate: string | null
  /** Of the current plastic. */
  readonly plasticNumber: number
  /** Of the newest plastic, also if it was cancelled. */
  readonly lastPlasticNumber: number
  /** Whether the card was converted, and its plastic has not been activated yet. */
  readonly isPlasticInactive: boolean
  readonly pinBlock: Uint8Array | null
  readonly pvv: string | null
  readonly pinKey: string
  readonly cvk: string
  readonly pinLength: number
  /** Of its product. */
  readonly currencyCode: string
  readonly pinLimit: number
  readonly pinRemaining: number
  readonly cvvLimit: number
  readonly cvvRemaining: number
  /** Null if neither the card nor its product has controls. */
  readonly controls: AppliedControls | null
}

/** The identifier of a card. */
export type NamedCard =
  | { readonly publicToken: PublicToken }
  /** The fingerprints of its PAN, one for each version of their key. */
  | { readonly panFingerprints: readonly Uint8Array[] }

/** The network, the request, how the card was presented, and the transaction. */
export interface AuthorizationOrigin {
  readonly networkId: string
  readonly requestId: string
  readonly reference: string
  readonly entryMode: string
  readonly transaction: Transaction
}

export type OriginValues = Omit<AuthorizationOrigin, 'transaction'> & TransactionColumns

/** The parameters of an origin. */
export const originValues = ({
  entryMode,
  networkId,
  reference,
  requestId,
  transaction,
}: AuthorizationOrigin): OriginValues => ({
  networkId,
  requestId,
  reference,
  entryMode,
  ...toColumns(transaction),
})

/** A new authorization. */
export interface NewAuthorization extends AuthorizationOrigin {
  /** A version 7 UUID. */
  readonly authorizationId: string
  readonly card: NamedCard
  /** The value to compare; null without one, and no try is spent. */
  readonly kind: TryKind | null
  /** `YYYY-MM`, in which the card must not be expired. */
  readonly currentMonth: string
  /** `YYYY-MM`, which must be the card's; null if it was not given. */
  readonly expiryMonth: string | null
  /** The zone key that opened the PIN block. It must still be the network's. */
  readonly zoneKey: { readonly keyName: string; readonly keyBlock: string } | null
  /** JSON: the use of a chip with a right cryptogram; null or absent without one. */
  readonly chip?: string | null
  /** The policies that decide on the card data that the request does not have. */
  readonly missingData?: readonly MissingDataPolicy[]
  /** Whether the request comes from the plastic, and not from its number. */
  readonly isPlasticUsed?: boolean
}

/** A spent try. */
export interface SpentTry {
  readonly publicToken: PublicToken
  readonly kind: TryKind
  readonly tryNumber: number
  readonly epoch: number
  /** The remaining tries after it. */
  readonly remaining: number
}

/** The result of the start (database/functions/authorizations/begin-authorization.sql). */
export type Beginning = { readonly card: AuthorizedCard | null } & (
  | { readonly outcome: 'spent'; readonly card: AuthorizedCard; readonly spent: SpentTry }
  | { readonly outcome: 'none_left' | 'unspent' | 'replayed' | 'stale_zone_key' | 'taken' }
)

type BeginValues = Omit<ClaimValues, 'answer'> &
  TransactionValues &
  OriginValues & {
    readonly publicToken: string | null
    readonly panFingerprints: string | null
    readonly kind: TryKind | null
    readonly currentMonth: string
    readonly expiryMonth: string | null
    readonly zoneKeyName: string | null
    readonly zoneKeyBlock: string | null
    readonly authorizationId: string
    readonly chip: string | null
    /** Separated by commas; null if nothing is missing. */
    readonly missingData: string | null
    readonly isPlasticUsed: boolean
  }

type BegunRow = Omit<AuthorizedCard, 'publicToken' | 'controls' | 'productChip'> & {
  /** JSON. */
  readonly controls: string | null
  readonly productChip: string | null
  readonly outcome: Beginning['outcome']
  readonly publicToken: PublicToken | null
  readonly tryNumber: number | null
  readonly epoch: number | null
  readonly remaining: number | null
}

const shared = loadSharedStatements(import.meta.url)

const begin = shared.declareAct<BeginValues, BegunRow>('begin_authorization')

/**
 * Reads the card of an authorization and spends the try of its comparison. The key of a claim
 * commits with the spend, so that no repeat spends another try.
 * @throws `LockTimeout` if another request holds the key or the counter for too long.
 */
export async function beginAuthorization(
  database: Database,
  { card, zoneKey, ...authorization }: NewAuthorization,
  claim: Claim | null,
): Promise<Beginning> {
  const named = await identifyCard(database, card)
  const { authorizationId, currentMonth, expiryMonth, kind } = authorization
  const { chip = null, isPlasticUsed = false, missingData = [] } = authorization
  const { answer: _, ...claimed } = claimParameters(claim)
  // Authorizations that spend nothing need no turn among those of the same card.
  const subject =
    kind === null ? authorizationId : `${kind} ${named.publicToken ?? named.panFingerprints}`
  const row = await begin(database, subject, {
    ...named,
    kind,
    currentMonth,
    expiryMonth,
    zoneKeyName: zoneKey?.keyName ?? null,
    zoneKeyBlock: zoneKey?.keyBlock ?? null,
    authorizationId,
    chip,
    missingData: missingData.length > 0 ? missingData.join(',') : null,
    isPlasticUsed,
    ...originValues(authorization),
    ...claimed,
    ...transactionParameters(claim?.original ?? null),
  })
  if (!row) throw new Error('An authorization did not begin.')
  return toBeginning(row, kind)
}

function toBeginning(row: BegunRow, kind: TryKind | null): Beginning {
  const { controls, epoch, outcome, productChip, publicToken, ...others } = row
  const { remaining, tryNumber, ...columns } = others
  if (publicToken === null) return { outcome: 'unspent', card: null }
  const card = {
    publicToken,
    ...columns,
    controls: controls === null ? null : parseAppliedControls(controls),
    productChip: productChip === null ? null : (JSON.parse(productChip) as ProductChip),
  }
  if (outcome !== 'spent') return { outcome, card }
  if (kind === null || tryNumber === null || epoch === null || remaining === null) {
    throw new Error('A try was spent without a number.')
  }
  return { outcome, card, spent: { publicToken, kind, tryNumber, epoch, remaining } }
}

/**
 * Finds the token of a card first: on a cluster, a card and its fingerprint may be on different
 * nodes.
 */
export async function identifyCard(
  database: Database,
  card: NamedCard,
): Promise<{ readonly publicToken: string | null; readonly panFingerprints: string | null }> {
  if ('publicToken' in card) return { publicToken: card.publicToken, panFingerprints: null }
  if (!database.isCluster()) {
    return { publicToken: null, panFingerprints: toByteaList(card.panFingerprints) }
  }
  // No card has an empty token.
  const publicToken = (await findTokenByPan(database, card.panFingerprints)) ?? ''
  return { publicToken, panFingerprints: null }
}

/** The HSM's reference of a card, and its client. */
interface CardReferenceRow {
  readonly publicToken: PublicToken
  readonly clientId: string
  readonly encryptedPan: Uint8Array
}

const selectReference = shared.declareRead<{ publicToken: PublicToken }, CardReferenceRow>(
  'find_card_reference',
)

/** Returns the HSM's reference to a card's PAN, or null if the card does not exist. */
export const findCardReference = (
  database: Database,
  publicToken: PublicToken,
): Promise<CardReferenceRow | null> => selectReference(database, { publicToken })

const selectToken = shared.declareRead<{ panFingerprints: string }, { publicToken: PublicToken }>(
  'find_token_by_pan',
)

const toByteaList = (fingerprints: readonly Uint8Array[]): string =>
  fingerprints.map((each) => `\\x${Buffer.from(each).toString('hex')}`).join(',')

/** Returns the token of a PAN, or null. @param panFingerprints one for each version of their key */
export const findTokenByPan = async (
  database: Database,
  panFingerprints: readonly Uint8Array[],
): Promise<PublicToken | null> => {
  const known = await selectToken(database, { panFingerprints: toByteaList(panFingerprints) })
  return known?.publicToken ?? null
}
