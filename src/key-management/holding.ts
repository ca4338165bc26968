import type { KeyManagement } from './key-management.ts'

/** One thing that lies under a key. */
export interface Held {
  /** Where it stands: the next page begins after it. */
  readonly position: string
  /** The version that it is under; null where it does not say. */
  readonly keyVersion: number | null
  /** Puts it under the active version, unless it changed meanwhile. @returns whether it did. */
  move(): Promise<boolean>
}

/** A column that lies under a key, read in the order of its rows. */
export interface Holding {
  readonly holdingName: string
  page(keys: KeyManagement, after: string, limit: number): Promise<readonly Held[]>
}
