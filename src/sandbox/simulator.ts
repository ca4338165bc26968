import type { Requester } from '../domain/client.ts'
import type { Cvv2 } from '../domain/cvv2.ts'
import { type CardRead, isStripeRead, selectCardRead } from '../domain/entry-mode.ts'
import { isPublicToken, type PublicToken } from '../domain/identifiers.ts'
import { toMoney } from '../domain/money.ts'
import type { Pin } from '../domain/pin.ts'
import { Problem } from '../domain/problem.ts'
import type { Track2 } from '../domain/stripe.ts'
import { type TransactionMembers, toTransaction } from '../domain/transaction.ts'
import type { CardReference } from '../hsm/contract/card.ts'
import type {
  Authorization,
  AuthorizationContext,
  AuthorizationRequest,
  EntryMode,
} from '../operations/authorizations/authorization.ts'
import { authorize } from '../operations/authorizations/authorize.ts'
import {
  type Answer,
  type RepeatableRequest,
  recall,
} from '../operations/idempotency/idempotency.ts'
import { findCardReference } from '../storage/authorizations/begin.ts'
import type { Increment } from '../storage/authorizations/settle.ts'
import { findChip } from '../storage/chips/find-chip.ts'
import type { MadeCryptogram, TakenAnswer, VirtualChips } from './chip/virtual-chip.ts'
import { simulatorNetwork, simulatorZoneKey } from './demo-data.ts'
import { encryptSimulatedPin } from './simulator-key.ts'

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
  /** Whether the virtual chip makes a cryptogram and takes the answer. */
  readonly chip?: boolean
  /** The PIN that the virtual chip compares. */
  readonly offlinePin?: Pin
}

/** The answer, and what the virtual chip made of it. */
interface SimulatedAuthorization extends Authorization {
  readonly virtualChip?: TakenAnswer & Pick<MadeCryptogram, 'offlinePin' | 'remainingOfflineTries'>
}

/**
 * Simulates the card network: encrypts the PIN block as a terminal does, under its own zone key,
 * and sends a network's request. With `chip`, the virtual chip of the card makes its cryptogram and
 * takes the answer.
 * @throws `Problem` `card_not_found` for another client's card, when a client calls.
 */
export const createSimulator = (context: AuthorizationContext, chips: VirtualChips) =>
  async function simulate(
    caller: SimulatorCaller,
    { chip = false, offlinePin, ...simulation }: Simulation,
    request: RepeatableRequest | null,
  ): Promise<Answer<SimulatedAuthorization>> {
    const { clientId } = caller
    const { publicToken } = simulation
    if (!chip) return sendRequest(context, caller, simulation, request, null)
    // A repeat gets the first answer, and the chip counts nothing.
    const known = await recall<Authorization>(context, request)
    if (known) return known
    await chips.makeIfMissing(clientId, publicToken)
    const money = toMoney(simulation.amount, simulation.currency)
    const made = await chips.purchase(clientId, publicToken, {
      money,
      offlinePin: offlinePin ?? null,
      country: simulation.merchant?.country,
      transactionType: simulation.transactionType ?? 'purchase',
      cashbackAmount: simulation.cashbackAmount ?? 0,
    })
    const answer = await sendRequest(context, caller, simulation, request, made)
    // The stored answer belongs to the cryptogram of the first request.
    if (answer.replayed) return answer
    const { approved, chip: answered } = answer.result
    const data = answered ? Buffer.from(answered.data, 'hex') : null
    const taken = await takeAnswer(chips, caller, { publicToken, data, approved })
    const { remainingOfflineTries } = await chips.read(clientId, publicToken)
    const virtualChip = { offlinePin: made.offlinePin, remainingOfflineTries, ...taken }
    return { ...answer, result: { ...answer.result, virtualChip } }
  }

/** Gives the answer to the chip, unless the chip has begun another transaction meanwhile. */
async function takeAnswer(
  chips: VirtualChips,
  { clientId }: SimulatorCaller,
  answer: {
    readonly publicToken: string
    readonly data: Uint8Array | null
    readonly approved: boolean
  },
): Promise<TakenAnswer> {
  try {
    return await chips.takeAnswer(clientId, answer.publicToken, answer.data, answer.approved)
  } catch (error) {
    // The authorization has happened, so its answer must not become an error.
    if (!(error instanceof Problem) || error.code !== 'virtual_chip_unusable') throw error
    return { answerVerified: false, approved: false, commands: [] }
  }
}

/** Sends the request of a network, with the chip data of a virtual chip. */
async function sendRequest(
  context: AuthorizationContext,
  { clientId, onWaiting = () => undefined, requestId }: SimulatorCaller,
  { partialAllowed, pin, publicToken, ...simulation }: Omit<Simulation, 'chip' | 'offlinePin'>,
  request: RepeatableRequest | null,
  made: MadeCryptogram | null,
): Promise<Answer<Authorization>> {
  const { cvv, entryMode, expiryDate, increment, ...members } = simulation
  if (!isPublicToken(publicToken)) throw new Problem('card_not_found')
  const { clientId: networkId } = simulatorNetwork
  const card = await findCardReference(context.database, publicToken)
  const isTheirs = clientId === null || card?.clientId === clientId
  if (!card || !isTheirs) throw new Problem('card_not_found')
  const pinBlock = pin === undefined ? null : await makePinBlock(context, card, pin)
  const mode = entryMode ?? (pin === undefined && made === null ? 'ecommerce' : 'chip')
  const cardRead = selectCardRead(mode, { hasChipData: made !== null, hasTrack: false })
  const track2 = await swipeCard(context, publicToken, cardRead)
  const asked = {
    networkId,
    requestId,
    onWaiting,
    card: { publicToken },
    entryMode: mode,
    cardRead,
    ...(track2 && { track2 }),
    reference: 'SIMULATOR',
    transaction: toTransaction(members),
    ...(expiryDate !== undefined && { expiryDate }),
    ...(increment && { increment }),
    isPartialAllowed: partialAllowed === true,
    ...(pinBlock && { pinBlock }),
    ...(cvv !== undefined && { cvv2: cvv }),
    ...(made && { chip: { data: Buffer.from(made.chip.data, 'hex') } }),
  } as const
  return authorize(context, asked, request)
}

/** The service code of an international card with a chip (ISO/IEC 7813). */
const chipServiceCode = '201'

/** Makes the track of a swipe. Null: nothing was swiped, or no value of the card is verified. */
async function swipeCard(
  { database, hsm }: AuthorizationContext,
  publicToken: PublicToken,
  cardRead: CardRead,
): Promise<Track2 | null> {
  if (!isStripeRead(cardRead)) return null
  const found = await findChip(database, { publicToken }, { read: null, networkId: null })
  if (found?.cardType !== 'Physical') return null
  return hsm.revealTrack2(found, found.cvk, found.expiry, chipServiceCode)
}

async function makePinBlock(context: AuthorizationContext, card: CardReference, pin: Pin) {
  const { bytes, format } = await encryptSimulatedPin(context, card, pin)
  return { format, key: simulatorZoneKey.keyName, data: Buffer.from(bytes).toString('hex') }
}
