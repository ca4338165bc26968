import type { Hsm } from '../hsm/hsm.ts'
import type { KeyAdministration } from '../hsm/key-administration.ts'
import type { Database } from '../storage/database.ts'
import type { KeyTimings } from './key-timings.ts'

/** What the operations on keys work with. */
export interface KeyManagement {
  readonly database: Database
  readonly hsm: Hsm & KeyAdministration
  readonly timings: KeyTimings
  /** Names this process among those that walk passes. */
  readonly processId: string
  /** Tells the log of a change in the life of a key that is on record. Never a clear key. */
  tellAct(act: KeyAct): void
}

/** What happened to a key, and at whose word; nobody's where it was due. */
export interface KeyAct {
  readonly act: string
  readonly key: string
  readonly clientId?: string
  readonly requestId?: string
}

/** Who asks, as the access token says, and under which request id. */
export interface Operator {
  readonly clientId: string
  readonly requestId: string
}

/** How a version of a key is told: `pan/2`. */
export const referenceOf = (keyName: string, keyVersion: number): string =>
  `${keyName}/${keyVersion}`

/** How a zone key is told: with its network, whose keys have names of their own. */
export const zoneReferenceOf = (key: string, clientId: string | null): string =>
  clientId === null ? key : `${clientId}/${key}`
