import type { PublicToken } from '../../domain/identifiers.ts'
import type { Database } from '../engine/database.ts'
import { loadSharedStatements } from '../engine/statements.ts'
import { type EventValues, eventParameters, type NewEvent } from '../events/events.ts'
import type { CardAndClientLimit } from './limits.ts'

/** The disclosed members of a card, as they were when the disclosure was recorded. */
export interface DisclosedCard {
  readonly publicToken: PublicToken
  readonly encryptedPan: Uint8Array
  /** `YYYY-MM-DD`. */
  readonly expiryDate: string
  readonly pinBlock: Uint8Array | null
  readonly pinKey: string
  readonly cvk: string
}

/** The conditions of a disclosure. */
interface DisclosureTerms {
  readonly clientId: string
  /** `YYYY-MM-DD`, on which the card must not be expired. */
  readonly today: string
  /** Whether its PIN is disclosed, too, and must therefore be revealable. */
  readonly includesPin: boolean
  /** The id of its event. */
  readonly eventId: string
  /** Null without limits. */
  readonly limits: CardAndClientLimit | null
}

interface DisclosureRecord extends EventValues {
  readonly clientId: string
  readonly today: string
  readonly includesPin: boolean
  readonly eventId: string
  readonly cardLimitName: string | null
  readonly cardUses: number | null
  readonly cardWindowSeconds: number | null
  readonly clientLimitName: string | null
  readonly clientUses: number | null
  readonly clientWindowSeconds: number | null
}

const shared = loadSharedStatements(import.meta.url)

const record = shared.declareAct<DisclosureRecord, Omit<DisclosedCard, 'publicToken'>>(
  'record_disclosure',
)

/**
 * Records a disclosure and spends a use of the card's limit and of its client's, all or nothing.
 * @returns the card, or null if its state or a limit does not allow it.
 */
export async function recordDisclosure(
  database: Database,
  event: NewEvent,
  { clientId, eventId, includesPin, limits, today }: DisclosureTerms,
): Promise<DisclosedCard | null> {
  const { publicToken } = event
  const perCard = limits?.perCard
  const perClient = limits?.perClient
  const disclosure: DisclosureRecord = {
    ...eventParameters(event),
    clientId,
    today,
    includesPin,
    eventId,
    cardLimitName: perCard?.limitName ?? null,
    cardUses: perCard?.uses ?? null,
    cardWindowSeconds: perCard?.windowSeconds ?? null,
    clientLimitName: perClient?.limitName ?? null,
    clientUses: perClient?.uses ?? null,
    clientWindowSeconds: perClient?.windowSeconds ?? null,
  }
  const card = await record(database, publicToken, disclosure)
  return card && { publicToken, ...card }
}
