import type { CardStatusCode } from '../../domain/card-status.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import type { TryKind } from '../../domain/tries.ts'
import { type Connection, type Database, firstRow } from '../engine/database.ts'
import { loadSharedStatements, loadStatements } from '../engine/statements.ts'
import { type CardAct, type CardActValues, cardActParameters } from './card-act.ts'
import { type Limit, type LimitValues, limitParameters } from './limits.ts'

const declare = loadStatements(import.meta.url)
const shared = loadSharedStatements(import.meta.url)

/** Whether an act was done, all of it or nothing. */
interface Done {
  readonly isDone: boolean
}

const isDone = (done: Done | null): boolean => done?.isDone ?? false

interface StatusChange extends CardActValues {
  readonly from: CardStatusCode
  readonly to: CardStatusCode
}

const changeStatus = shared.declareAct<StatusChange, Done>('change_card_status')

/** Moves a card from its stored status to another one. */
export const updateCardStatus = async (
  database: Database,
  act: CardAct,
  { from, to }: Readonly<Record<'from' | 'to', CardStatusCode>>,
): Promise<boolean> =>
  isDone(
    await changeStatus(database, act.event.publicToken, { ...cardActParameters(act), from, to }),
  )

/** A stored PIN: one of the two forms, and its key. */
interface PinColumns {
  readonly pinBlock: Uint8Array | null
  readonly pvv: string | null
  readonly pinKey: string
}

/** A sealed PIN that a card has accepted. */
interface PinEnvelope {
  /** SHA-256 of its `jti`. */
  readonly jtiHash: Uint8Array
  /** After this instant, its own `iat` makes it invalid, and it need not be stored. */
  readonly expiresAt: Date
}

/** A PIN for the chip of its card, which the HSM can reveal. */
interface ChipPin {
  readonly pinBlock: Uint8Array
  readonly pinKey: string
}

/** A card's new PIN, and its envelope, which the card accepts once. */
export interface NewPin extends PinColumns {
  /** The command to the chip of the card; null without a chip. */
  readonly chipPin: ChipPin | null
  readonly envelope: PinEnvelope | null
}

interface PinChange extends CardActValues, PinColumns {
  readonly today: string
  readonly chipPinBlock: Uint8Array | null
  readonly chipPinKey: string | null
  readonly jtiHash: Uint8Array | null
  readonly envelopeExpiresAt: Date | null
}

const setPin = shared.declareAct<PinChange, Done>('set_pin')

/**
 * Stores another PIN. The tries do not change.
 * @param today `YYYY-MM-DD`
 */
export const updatePin = async (
  database: Database,
  act: CardAct,
  today: string,
  { chipPin, envelope, pinBlock, pinKey, pvv }: NewPin,
): Promise<boolean> =>
  isDone(
    await setPin(database, act.event.publicToken, {
      ...cardActParameters(act),
      today,
      pinBlock,
      pvv,
      pinKey,
      chipPinBlock: chipPin?.pinBlock ?? null,
      chipPinKey: chipPin?.pinKey ?? null,
      jtiHash: envelope?.jtiHash ?? null,
      envelopeExpiresAt: envelope?.expiresAt ?? null,
    }),
  )

const selectEnvelope = declare<{ publicToken: PublicToken; jtiHash: Uint8Array }>(
  'find_pin_envelope',
)

/**
 * Whether a card has accepted an envelope before.
 * @param envelope null without one.
 */
export const hasPinEnvelope = async (
  connection: Connection,
  publicToken: PublicToken,
  envelope: PinEnvelope | null,
): Promise<boolean> =>
  envelope !== null &&
  (await selectEnvelope(connection, { publicToken, jtiHash: envelope.jtiHash })).length > 0

/** The tries to restore, and the limit. */
interface TriesRestoration {
  readonly kind: TryKind
  /** `YYYY-MM-DD` */
  readonly today: string
  /** Null without a limit. */
  readonly limit: Limit | null
}

interface TriesChange extends CardActValues {
  readonly kind: TryKind
  readonly today: string
}

const restore = shared.declareAct<TriesChange & LimitValues, Done>('restore_tries')

/** Restores every try and opens a new epoch. */
export const restoreTries = async (
  database: Database,
  act: CardAct,
  { kind, limit, today }: TriesRestoration,
): Promise<boolean> =>
  isDone(
    await restore(database, act.event.publicToken, {
      ...cardActParameters(act),
      ...limitParameters(limit),
      kind,
      today,
    }),
  )

const spendAll = shared.declareAct<TriesChange, Done>('spend_all_tries')

/**
 * Spends every try at the client's request and opens a new epoch.
 * @param today `YYYY-MM-DD`
 */
export const spendAllTries = async (
  database: Database,
  act: CardAct,
  kind: TryKind,
  today: string,
): Promise<boolean> =>
  isDone(
    await spendAll(database, act.event.publicToken, { ...cardActParameters(act), kind, today }),
  )

const expire = declare<{ today: string; limit: number }, { count: number }>('expire_cards')

/**
 * Moves some of the cards whose last day is before `today` (`YYYY-MM-DD`) to `54`, each with its
 * event, once, however many processes sweep.
 * @returns their number.
 */
export const expireCards = async (
  connection: Connection,
  today: string,
  limit: number,
): Promise<number> => firstRow(await expire(connection, { today, limit }))?.count ?? 0

const deleteEnvelopes = declare<{ expiredBefore: Date; limit: number }>('prune_pin_envelopes')

/**
 * Deletes at most `limit` expired envelopes.
 * @returns their number.
 */
export const expirePinEnvelopes = async (
  connection: Connection,
  expiredBefore: Date,
  limit: number,
): Promise<number> => (await deleteEnvelopes(connection, { expiredBefore, limit })).length
