import type { OpenedPinBlock } from '../../hsm/contract/hsm.ts'
import { callHsm } from '../../hsm/contract/outage.ts'
import { findCardReference, type NamedCard } from '../../storage/authorizations/begin.ts'
import { findZoneKey, type ZoneKeyRow } from '../../storage/keys/zone-keys.ts'
import type { AuthorizationContext, AuthorizationRequest } from './authorization.ts'

/**
 * An opened PIN block, or its objection: `86` or `96`, which is the answer if no earlier check
 * objects.
 */
export type PresentedPinBlock =
  | { readonly opened: OpenedPinBlock; readonly zoneKey: UsedZoneKey; readonly objection: null }
  | { readonly opened: null; readonly zoneKey: null; readonly objection: '86' | '96' }

/** The zone key that opened a PIN block. */
interface UsedZoneKey {
  readonly keyName: string
  readonly keyBlock: string
}

/** Returns the database's identifiers of a request's card; null during an outage of the HSM. */
export async function nameCard(
  context: AuthorizationContext,
  card: NonNullable<AuthorizationRequest['card']>,
): Promise<NamedCard | null> {
  if (!('pan' in card)) return card
  if (card.panFingerprints) return { panFingerprints: card.panFingerprints }
  const known = await callHsm(context, () => context.hsm.fingerprintPan(card.pan))
  return known && { panFingerprints: known.map(({ fingerprint }) => fingerprint) }
}

const bad = { opened: null, zoneKey: null, objection: '86' } as const
const silent = { opened: null, zoneKey: null, objection: '96' } as const

/**
 * Lets the HSM decipher the PIN block of a request, before a try is spent. All faults of a block
 * give the same result, because the kind of fault would reveal something about the key or the PIN.
 * @returns null if the request has no block.
 */
export async function presentPinBlock(
  context: AuthorizationContext,
  { card, networkId, pinBlock }: AuthorizationRequest,
): Promise<PresentedPinBlock | null> {
  if (!pinBlock || !card) return null
  const { data, format, key } = pinBlock
  const zoneKey = await findUsedZoneKey(context, networkId, key)
  const bytes = Buffer.from(data, 'hex')
  if (!zoneKey?.pinBlockFormats.includes(format) || bytes.length * 2 !== data.length) return bad
  const { keyBlock: zoneKeyBlock, keyName } = zoneKey
  const bound = 'pan' in card ? card : await findCardReference(context.database, card.publicToken)
  if (!bound) return bad
  const answer = await callHsm(context, async () => ({
    opened: await context.hsm.openPinBlock(bound, { format, bytes, zoneKeyBlock }),
  }))
  if (!answer) {
    deleteCachedZoneKey(context, networkId, key)
    return silent
  }
  const { opened } = answer
  return opened ? { opened, zoneKey: { keyName, keyBlock: zoneKeyBlock }, objection: null } : bad
}

const composeCacheKey = (networkId: string, keyName: string): string => `${networkId} ${keyName}`

async function findUsedZoneKey(
  { database, zoneKeys }: AuthorizationContext,
  networkId: string,
  keyName: string,
): Promise<ZoneKeyRow | null> {
  const known = zoneKeys.get(composeCacheKey(networkId, keyName))
  if (known) return known
  const found = await findZoneKey(database, networkId, keyName)
  if (found) zoneKeys.set(composeCacheKey(networkId, keyName), found)
  return found
}

/** Deletes a zone key from the cache, so that it is read again. */
export function deleteCachedZoneKey(
  { zoneKeys }: Pick<AuthorizationContext, 'zoneKeys'>,
  networkId: string,
  keyName: string,
): void {
  zoneKeys.delete(composeCacheKey(networkId, keyName))
}
