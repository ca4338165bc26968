import type { DatedZoneKeyRow } from '../storage/zone-keys.ts'
import type { ClientRecord } from './client-record.ts'

/** Keys that are shown of a network. The list of keys has all of them. */
export const zoneKeysShown = 100

/** A card network: the client that it calls as, and the keys that its PIN blocks come under. */
export interface ZoneRecord extends Pick<ClientRecord, 'clientId' | 'clientName' | 'active'> {
  /** At most {@link zoneKeysShown}: those in use before those that are retired. */
  readonly keys: readonly ZoneKeyRecord[]
}

/** A zone key as it is told. The key block is not. */
export interface ZoneKeyRecord {
  readonly key: string
  readonly algorithm: string
  readonly pinBlockFormats: readonly string[]
  readonly keyCheckValue: string
  readonly createdAt: string
  readonly retiredAt: string | null
}

export const zoneRecord = (
  { active, clientId, clientName }: Pick<ClientRecord, 'clientId' | 'clientName' | 'active'>,
  keys: readonly DatedZoneKeyRow[],
): ZoneRecord => ({
  clientId,
  clientName,
  active,
  keys: keys
    .filter((key) => key.clientId === clientId)
    .map(({ algorithm, createdAt, keyCheckValue, keyName, pinBlockFormats, retiredAt }) => ({
      key: keyName,
      algorithm,
      pinBlockFormats,
      keyCheckValue,
      createdAt: createdAt.toISOString(),
      retiredAt: retiredAt?.toISOString() ?? null,
    })),
})
