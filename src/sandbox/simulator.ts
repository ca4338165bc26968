import type { Requester } from '../domain/client.ts'
import type { Cvv2 } from '../domain/cvv2.ts'
import { isPublicToken } from '../domain/identifiers.ts'
import type { Pin } from '../domain/pin.ts'
import { Problem } from '../domain/problem.ts'
import { type TransactionMembers, toTransaction } from '../domain/transaction.ts'
import type { CardReference } from '../hsm/contract/card.ts'
import type {
  Authorization,
  AuthorizationContext,
  AuthorizationRequest,
  EntryMode,
} from '../operations/authorizations/authorization.ts'
import { authorize } from '../operations/authorizations/authorize.ts'
import type { Answer, RepeatableRequest } from '../operations/idempotency/idempotency.ts'
import { findCardReference } from '../storage/authorizations/begin.ts'
import type { Increment } from '../storage/authorizations/settle.ts'
import { findZoneKey } from '../storage/keys/zone-keys.ts'
import { simulatorNetwork, simulatorZoneKey } from './demo-data.ts'

/** The caller of the simulator: a client with its own cards, or an operator with any card. */
type SimulatorCaller = Pick<Requester, 'requestId'> &
  Pick<AuthorizationRequest, 'onWaiting'> & { readonly clientId: string | null }

/** The request that the simulator sends for a card. */
interface Simulation extends TransactionMembers {
  readonly publicToken: string
  readonly pin?: Pin
  readonly cvv?: Cvv2
  /** `YYYY-MM`. */
  readonly expiryDate?: string
  readonly entryMode?: EntryMode
  /** The payment that the request raises. */
  readonly increment?: Increment
  readonly partialAllowed?: boolean
}

/**
 * Simulates the card network: encrypts the PIN block as a terminal does, under its own zone key,
 * and sends a network's request.
 * @throws `Problem` `card_not_found` for another client's card, when a client calls.
 */
export const createSimulator =
  (context: AuthorizationContext) =>
  async (
    { clientId, onWaiting = () => undefined, requestId }: SimulatorCaller,
    { partialAllowed, pin, publicToken, ...simulation }: Simulation,
    request: RepeatableRequest | null,
  ): Promise<Answer<Authorization>> => {
    const { database } = context
    const { cvv, entryMode, expiryDate, increment, ...members } = simulation
    if (!isPublicToken(publicToken)) throw new Problem('card_not_found')
    const { clientId: networkId } = simulatorNetwork
    const card = await findCardReference(database, publicToken)
    const isTheirs = clientId === null || card?.clientId === clientId
    if (!card || !isTheirs) throw new Problem('card_not_found')
    const pinBlock = pin === undefined ? null : await makePinBlock(context, card, pin)
    const asked = {
      networkId,
      requestId,
      onWaiting,
      card: { publicToken },
      entryMode: entryMode ?? (pin === undefined ? 'ecommerce' : 'chip'),
      reference: 'SIMULATOR',
      transaction: toTransaction(members),
      ...(expiryDate !== undefined && { expiryDate }),
      ...(increment && { increment }),
      isPartialAllowed: partialAllowed === true,
      ...(pinBlock && { pinBlock }),
      ...(cvv !== undefined && { cvv2: cvv }),
    } as const
    return authorize(context, asked, request)
  }

async function makePinBlock(
  { database, hsm }: AuthorizationContext,
  card: CardReference,
  pin: Pin,
) {
  const { keyName, pinBlockFormat: format } = simulatorZoneKey
  const zoneKey = await findZoneKey(database, simulatorNetwork.clientId, keyName)
  if (!zoneKey) throw new Problem('card_not_found')
  const { bytes } = await hsm.generatePinBlock(card, pin, format, zoneKey.keyBlock)
  return { format, key: keyName, data: Buffer.from(bytes).toString('hex') }
}
