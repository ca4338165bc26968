import type { CardStatusCode } from '../../domain/card-status.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import type { TryKind } from '../../domain/tries.ts'
import type { Connection, Database } from '../engine/database.ts'
import { loadSharedStatements, loadStatements } from '../engine/statements.ts'
import { type CardAct, type CardActValues, cardActParameters } from './card-act.ts'
import { cardChange, commitChange } from './card-change.ts'
import { isChangeable } from './cards.ts'
import { clock, isUsedUp, type Limit, limitTypes, limitValues, useStatement } from './limits.ts'

const declare = loadStatements(import.meta.url)
const shared = loadSharedStatements(import.meta.url)

/** Whether an act was done: all of it, or nothing. */
interface Done {
  readonly isDone: boolean
}

const isDone = (done: Done | null): boolean => done?.isDone ?? false

interface StatusChange extends CardActValues {
  readonly from: CardStatusCode
  readonly to: CardStatusCode
}

const changeStatus = shared.declareAct<StatusChange, Done>('change_card_status')

/** Moves a card from the status that is stored to another. */
export const updateCardStatus = async (
  database: Database,
  act: CardAct,
  { from, to }: Readonly<Record<'from' | 'to', CardStatusCode>>,
): Promise<boolean> =>
  isDone(
    await changeStatus(database, act.event.publicToken, { ...cardActParameters(act), from, to }),
  )

/** A PIN as it is kept: one of the two forms, and the key it is kept under. */
interface PinColumns {
  readonly pinBlock: Uint8Array | null
  readonly pvv: string | null
  readonly pinKey: string
}

const pinTypes = ['date', 'bytea', 'text', 'text'] as const
const pinColumns = 'pin_block = $8, pvv = $9, pin_key = $10'

const pinChange = cardChange('set_pin', {
  types: pinTypes,
  card: pinColumns,
  where: isChangeable('$7'),
})

const envelopePinChange = cardChange('set_enveloped_pin', {
  types: [...pinTypes, 'bytea', 'timestamptz'],
  card: pinColumns,
  where: isChangeable('$7'),
  alongside: {
    remembered: `insert into pin_envelope (public_token, jti_hash, expires_at)
      select public_token, $11, $12 from changed
      on conflict (public_token, jti_hash) do nothing returning public_token`,
  },
})

/** A sealed PIN that was taken for a card. */
interface PinEnvelope {
  /** SHA-256 of its `jti`. */
  readonly jtiHash: Uint8Array
  /** From here on its own `iat` refuses it, and it need not be remembered. */
  readonly expiresAt: Date
}

/** A card's new PIN, and the envelope that it came in, which the card takes once. */
export interface NewPin extends PinColumns {
  readonly envelope: PinEnvelope | null
}

/** Keeps another PIN. The tries stay as they are. @param today `YYYY-MM-DD` */
export const updatePin = (
  database: Database,
  act: CardAct,
  today: string,
  { envelope, pinBlock, pinKey, pvv }: NewPin,
): Promise<boolean> => {
  const values = [today, pinBlock, pvv, pinKey]
  return envelope
    ? commitChange(database, envelopePinChange, act, [
        ...values,
        envelope.jtiHash,
        envelope.expiresAt,
      ])
    : commitChange(database, pinChange, act, values)
}

const selectEnvelope = declare<{ publicToken: PublicToken; jtiHash: Uint8Array }>(
  'find_pin_envelope',
)

/** Whether a card has had an envelope before. @param envelope null: there is none. */
export const hasPinEnvelope = async (
  connection: Connection,
  publicToken: PublicToken,
  envelope: PinEnvelope | null,
): Promise<boolean> =>
  envelope !== null &&
  (await selectEnvelope(connection, { publicToken, jtiHash: envelope.jtiHash })).length > 0

const restored = (kind: string): string => `update try_counter
  set restored = spent, epoch = epoch + 1, blocked_by_client = false, block_reported = false
  from changed where try_counter.public_token = any(array[$1]) and kind = ${kind}
  returning try_counter.public_token`

const triesRestoration = cardChange('restore_tries', {
  types: ['date', 'text'],
  where: isChangeable('$7'),
  alongside: { restored: restored('$8') },
})

const limitedTriesRestoration = cardChange('restore_tries_within_limit', {
  types: [...limitTypes, 'date', 'text'],
  common: limitTypes.length,
  first: clock,
  where: `${isChangeable('$12')} and not ${isUsedUp('card', '$1', 7)}`,
  alongside: { restored: restored('$13'), used: useStatement('card', 'changed', 7) },
})

/** Which tries are given back, and by which limit. */
interface TriesRestoration {
  readonly kind: TryKind
  /** `YYYY-MM-DD` */
  readonly today: string
  /** Null where there is none. */
  readonly limit: Limit | null
}

/** Gives back every try and opens a new epoch. */
export const restoreTries = (
  database: Database,
  act: CardAct,
  { kind, limit, today }: TriesRestoration,
): Promise<boolean> =>
  limit
    ? commitChange(database, limitedTriesRestoration, act, [...limitValues(limit), today, kind])
    : commitChange(database, triesRestoration, act, [today, kind])

const triesRemoval = cardChange('spend_all_tries', {
  types: ['date', 'text'],
  where: isChangeable('$7'),
  alongside: {
    spent: `update try_counter
      set spent = restored + try_limit, epoch = epoch + 1, blocked_by_client = true,
        block_reported = true
      from changed where try_counter.public_token = any(array[$1]) and kind = $8
      returning try_counter.public_token`,
  },
})

/** Takes every try away at the client's word and opens a new epoch. @param today `YYYY-MM-DD` */
export const spendAllTries = (
  database: Database,
  act: CardAct,
  kind: TryKind,
  today: string,
): Promise<boolean> => commitChange(database, triesRemoval, act, [today, kind])

const updateExpired = declare<{ today: string; limit: number }>('expire_cards')

/**
 * Moves some of the cards whose last day is before `today` (`YYYY-MM-DD`) to `54`, each with its
 * event, once, however many processes sweep.
 * @returns how many.
 */
export const expireCards = async (
  connection: Connection,
  today: string,
  limit: number,
): Promise<number> => (await updateExpired(connection, { today, limit })).length

const deleteEnvelopes = declare<{ expiredBefore: Date; limit: number }>('prune_pin_envelopes')

/** Forgets at most `limit` envelopes that had expired by then. @returns how many they were. */
export const prunePinEnvelopes = async (
  connection: Connection,
  expiredBefore: Date,
  limit: number,
): Promise<number> => (await deleteEnvelopes(connection, { expiredBefore, limit })).length
