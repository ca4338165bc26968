import type { Pin } from '../domain/pin.ts'
import { Problem } from '../domain/problem.ts'
import type { CardReference } from '../hsm/contract/card.ts'
import type { EncryptedPinBlock, Hsm } from '../hsm/contract/hsm.ts'
import type { Database } from '../storage/engine/database.ts'
import { findZoneKey } from '../storage/keys/zone-keys.ts'
import { simulatorNetwork, simulatorZoneKey } from './demo-data.ts'

/** Encrypts a PIN as a terminal does, under the simulator's own zone key. */
export async function encryptSimulatedPin(
  { database, hsm }: { readonly database: Database; readonly hsm: Hsm },
  card: CardReference,
  pin: Pin,
): Promise<EncryptedPinBlock> {
  const { keyName, pinBlockFormat } = simulatorZoneKey
  const zoneKey = await findZoneKey(database, simulatorNetwork.clientId, keyName)
  if (!zoneKey) throw new Problem('card_not_found')
  return hsm.generatePinBlock(card, pin, pinBlockFormat, zoneKey.keyBlock)
}
