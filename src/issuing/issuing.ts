import type { Hsm } from '../hsm/hsm.ts'
import type { Database } from '../storage/database.ts'
import type { CardAndClientLimit, Limit } from '../storage/limits.ts'
import type { Turns } from './turns.ts'

/** What every operation works with. */
export interface Issuing {
  readonly database: Database
  readonly hsm: Hsm
  /** The instant that card dates and statuses are held against. */
  now(): Date
  readonly limits: IssuingLimits
  /** Opens session keys: each costs a private RSA operation, for which all clients share a machine. */
  readonly sessionKeyTurns: Turns
}

/** Limits that hold across processes and restarts; null where limits are turned off. */
export interface IssuingLimits {
  readonly reveals: CardAndClientLimit | null
  readonly badSessionKeys: CardAndClientLimit | null
  /** For each kind of tries. */
  readonly unblocksPerCard: Limit | null
}

/** Who asks, as the access token says, and under which request id. */
export interface Caller {
  readonly clientId: string
  readonly requestId: string
}

/** What a client may say of a change. Kept sealed beside its event. */
export interface ChangeNote {
  readonly description?: string
  readonly updatedBy?: string
}
