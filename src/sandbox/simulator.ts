import { isPublicToken } from '../domain/identifiers.ts'
import { Pin } from '../domain/pin.ts'
import { Problem } from '../domain/problem.ts'
import type {
  Authorization,
  AuthorizationOperations,
  EntryMode,
} from '../operations/authorizations/authorization.ts'
import { authorize } from '../operations/authorizations/authorize.ts'
import type { Answer, RepeatableRequest } from '../operations/idempotency/idempotency.ts'
import { findAuthorizedCard } from '../storage/cards/authorizations.ts'
import { findZoneKey } from '../storage/clients/zone-keys.ts'
import { simulatorNetwork, simulatorZoneKey } from './demo-data.ts'

/** What a client lets the simulator try on a card of its own. */
interface Simulation {
  readonly publicToken: string
  readonly pin?: string
  readonly cvv?: string
  /** `YYYY-MM`. */
  readonly expiryDate?: string
  readonly entryMode?: EntryMode
}

/**
 * Plays the card network: makes the PIN block that a terminal would make, under a zone key of its own,
 * and asks what a network asks.
 * @throws `Problem` `card_not_found` for another client's card.
 */
export const createSimulator =
  (authorizing: AuthorizationOperations) =>
  async (
    { clientId, requestId }: { readonly clientId: string; readonly requestId: string },
    simulation: Simulation,
    request: RepeatableRequest | null,
  ): Promise<Answer<Authorization>> => {
    const { cvv, entryMode, expiryDate, pin, publicToken } = simulation
    await requireOwnCard(authorizing, clientId, publicToken)
    const pinBlock = pin === undefined ? null : await makePinBlock(authorizing, publicToken, pin)
    const question = {
      networkId: simulatorNetwork.clientId,
      requestId,
      card: { publicToken },
      entryMode: entryMode ?? (pin === undefined ? 'ecommerce' : 'chip'),
      reference: 'SIMULATOR',
      ...(expiryDate !== undefined && { expiryDate }),
      ...(pinBlock && { pinBlock }),
      ...(cvv !== undefined && { cvv2: cvv }),
    } as const
    return authorize(authorizing, question, request)
  }

async function requireOwnCard(
  { database }: AuthorizationOperations,
  clientId: string,
  publicToken: string,
): Promise<void> {
  const card = isPublicToken(publicToken) ? await findAuthorizedCard(database, publicToken) : null
  if (card?.clientId !== clientId) throw new Problem('card_not_found')
}

async function makePinBlock(
  { database, hsm }: AuthorizationOperations,
  publicToken: string,
  digits: string,
) {
  const zoneKey = await findZoneKey(database, simulatorNetwork.clientId, simulatorZoneKey.keyName)
  const card = await findAuthorizedCard(database, publicToken)
  if (!zoneKey || !card) throw new Problem('card_not_found')
  const { keyBlock, keyName } = zoneKey
  const format = simulatorZoneKey.pinBlockFormat
  const { bytes } = await hsm.generatePinBlock(card, new Pin(digits), format, keyBlock)
  return { format, key: keyName, data: Buffer.from(bytes).toString('hex') }
}
