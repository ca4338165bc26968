import { createHash } from 'node:crypto'
import { toExpiry } from '../../domain/calendar.ts'
import type { Requester } from '../../domain/client.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import { Problem, validationFailed } from '../../domain/problem.ts'
import type {
  CardDataKey,
  DeviceKeyJwk,
  DeviceSeal,
  SessionSealed,
} from '../../hsm/contract/card-data.ts'
import type { CardContext } from '../cards/cards.ts'
import { disclose, refuseDisclosure, revealablePin } from '../cards/disclosures.ts'
import { spendUse } from '../cards/limits.ts'
import type { RefusedDisclosures } from './refused-disclosures.ts'

/** Limits the number of concurrent calls, and lets clients take turns. */
interface Turns {
  /**
   * Resolves with a function to call at the end, when a call can begin.
   * @throws `Problem` `rate_limited` if too many calls of the client wait.
   */
  enter(clientId: string): Promise<() => void>
}

/** The dependencies of the operations on card data. */
export interface CardDataContext extends CardContext {
  /** The turns of clients with session keys, each of which costs a private RSA operation. */
  readonly sessionKeys: Turns
  readonly refusedDisclosures: RefusedDisclosures
}

export type { CardDataKey }

/**
 * Lists the public keys of card data, the preferred ones first.
 * @throws `Problem` `unavailable` until they exist.
 */
export const listCardDataKeys = ({
  hsm,
}: Pick<CardContext, 'hsm'>): Promise<readonly CardDataKey[]> => hsm.cardDataKeys()

/**
 * Returns one of them by its `kid`.
 * @throws `Problem` `not_found`.
 */
export async function findCardDataKey(
  { hsm }: Pick<CardContext, 'hsm'>,
  keyId: string,
): Promise<CardDataKey> {
  const key = (await hsm.cardDataKeys()).find((each) => each.keyId === keyId)
  if (!key) throw new Problem('not_found')
  return key
}

/** The device's key for sealing card data, and the requested data. */
export type CardDataRequest = CardDataWanted & (ForSessionKey | ForDeviceKey)

interface CardDataWanted {
  readonly publicToken: PublicToken
  readonly includePin: boolean
}

interface ForSessionKey {
  readonly form: 'sessionKey'
  readonly key: string
}

interface ForDeviceKey {
  readonly form: 'deviceKey'
  readonly deviceKey: DeviceKeyJwk
  readonly nonce: string
  readonly issuer: string
}

/** Card data that only the device can open, and the audit log entry of the disclosure. */
interface RevealedCardData {
  readonly sealed: SealedCardData
  readonly entryId: string
}

type SealedCardData = { readonly sessionSealed: SessionSealed } | { readonly jwe: string }

/**
 * Seals a card's data to the device's key. The disclosure is recorded before the data leaves.
 * @throws `Problem` `validation_failed` for an invalid device key; `card_not_found`,
 *   `rate_limited`, `card_closed`, `pin_not_revealable`; `invalid_session_key`, whatever is wrong
 *   with it.
 */
export async function revealCardData(
  context: CardDataContext,
  requester: Requester,
  asked: CardDataRequest,
): Promise<RevealedCardData> {
  // Before anything is recorded, because it may be slow and may fail.
  const seal = await importKey(context, requester, asked)
  const { form, includePin, publicToken } = asked
  const { clientId, requestId } = requester
  const device = asked.form === 'deviceKey' ? deviceKeyThumbprint(asked.deviceKey) : null
  const { card, entryId } = await disclose(context, requester, {
    publicToken,
    includesPin: includePin,
    type: 'card_data.revealed',
    details: { clientId, requestId, form, includePin, ...(device !== null && { device }) },
  })
  const sealed = await seal({
    card,
    cvk: card.cvk,
    expiry: toExpiry(card.expiryDate),
    pin: includePin ? revealablePin(card) : null,
    // The device compares it with its own clock, so this is the machine's clock.
    at: new Date(),
  })
  return { sealed, entryId }
}

/**
 * Computes the thumbprint of a device's key (RFC 7638, SHA-256, base64url); null for an invalid
 * key.
 */
export function deviceKeyThumbprint({
  crv,
  kty,
  x,
  y,
}: Readonly<Partial<Record<keyof DeviceKeyJwk, unknown>>>): string | null {
  const members = kty === 'EC' ? { crv, kty, x, y } : { crv, kty, x }
  const isKey = Object.values(members).every(
    (member) => typeof member === 'string' && /^[\w-]{1,100}$/.test(member),
  )
  return isKey ? createHash('sha256').update(JSON.stringify(members)).digest('base64url') : null
}

type Seal = (disclosure: Parameters<DeviceSeal<unknown>['seal']>[0]) => Promise<SealedCardData>

async function importKey(
  context: CardDataContext,
  requester: Requester,
  asked: CardDataRequest,
): Promise<Seal> {
  if (asked.form === 'sessionKey') {
    const session = await importSessionKey(context, requester, asked)
    return async (disclosure) => ({ sessionSealed: await session.seal(disclosure) })
  }
  const { deviceKey, issuer, nonce } = asked
  const device = await context.hsm.importDeviceKey(deviceKey, { issuer, nonce })
  if (!device) {
    const detail = 'must be a public key on P-256 or X25519'
    throw validationFailed({ pointer: '/deviceKey', detail })
  }
  return async (disclosure) => ({ jwe: await device.seal(disclosure) })
}

/**
 * Imports a session key after the cheaper checks.
 * @throws `Problem` `card_not_found`, `rate_limited`, `card_closed`, `pin_not_revealable`;
 *   `invalid_session_key`, whatever is wrong with it, after it was counted.
 */
async function importSessionKey(
  context: CardDataContext,
  requester: Requester,
  wanted: CardDataWanted & ForSessionKey,
): Promise<DeviceSeal<SessionSealed>> {
  const leave = await context.sessionKeys.enter(requester.clientId)
  try {
    return await importInTurn(context, requester, wanted)
  } finally {
    leave()
  }
}

/**
 * Checks the limits when the call has its turn: concurrent calls would not see each other's uses.
 */
async function importInTurn(
  context: CardDataContext,
  requester: Requester,
  { includePin, key, publicToken }: CardDataWanted & ForSessionKey,
): Promise<DeviceSeal<SessionSealed>> {
  const { database, hsm, limits } = context
  // Without a lock: the statement that records the disclosure checks all of it again.
  const disclosure = { publicToken, includesPin: includePin }
  const { badSessionKeys, reveals } = limits
  const limited = [reveals, badSessionKeys]
  const { lineToken } = await refuseDisclosure(context, requester, disclosure, limited)
  const session = await hsm.importSessionKey(key)
  if (session) return session
  // Counted and committed before the answer, for both the card and its client, or for neither.
  const { perCard = null, perClient = null } = badSessionKeys ?? {}
  await database.transaction(async (connection) => {
    await spendUse(connection, 'card', lineToken, perCard)
    await spendUse(connection, 'client', requester.clientId, perClient)
  })
  throw new Problem('invalid_session_key')
}
