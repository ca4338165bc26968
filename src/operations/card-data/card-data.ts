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

/** Bounds how many calls are worked on at once, and lets clients take turns. */
interface Turns {
  /**
   * Resolves when a call may begin, to a function to call when it is done.
   * @throws `Problem` `rate_limited` when too many of the client's calls wait.
   */
  enter(clientId: string): Promise<() => void>
}

/** What the operations on card data work with. */
export interface CardDataContext extends CardContext {
  /** Lets clients take turns with session keys: each costs a private RSA operation. */
  readonly sessionKeys: Turns
  readonly refusedDisclosures: RefusedDisclosures
}

export type { CardDataKey }

/**
 * The public keys of card data, the ones to use first.
 * @throws `Problem` `unavailable` until made.
 */
export const listCardDataKeys = ({
  hsm,
}: Pick<CardContext, 'hsm'>): Promise<readonly CardDataKey[]> => hsm.cardDataKeys()

/** One of them, by its `kid`. @throws `Problem` `not_found`. */
export async function findCardDataKey(
  { hsm }: Pick<CardContext, 'hsm'>,
  keyId: string,
): Promise<CardDataKey> {
  const key = (await hsm.cardDataKeys()).find((each) => each.keyId === keyId)
  if (!key) throw new Problem('not_found')
  return key
}

/** What a device gave to have card data sealed to, and what is asked for. */
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

/**
 * Card data that only the device can open, and the entry of the audit log that says to whom they
 * went.
 */
interface RevealedCardData {
  readonly sealed: SealedCardData
  readonly entryId: string
}

type SealedCardData = { readonly sessionSealed: SessionSealed } | { readonly jwe: string }

/**
 * A card's data, sealed to the device's key. The disclosure is on record before they leave.
 * @throws `Problem` `validation_failed` for a device's key that is none; `card_not_found`,
 * `rate_limited`, `card_closed`, `pin_not_revealable`; `invalid_session_key`, whatever is wrong
 * with it.
 */
export async function revealCardData(
  context: CardDataContext,
  requester: Requester,
  asked: CardDataRequest,
): Promise<RevealedCardData> {
  // Before anything is recorded: it takes as long as it takes, and may come to nothing.
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
    // The device compares it with its own clock, so this is the machine's.
    at: new Date(),
  })
  return { sealed, entryId }
}

/** The thumbprint of a device's key (RFC 7638, SHA-256, base64url); null where it cannot be one. */
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
 * Takes in a session key, when all that costs less than looking at it is in order.
 * @throws `Problem` `card_not_found`, `rate_limited`, `card_closed`, `pin_not_revealable`;
 * `invalid_session_key`, whatever is wrong with it, when that has been counted.
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
 * Looks at the limits in its turn: of many calls at once, few would see a use that another one
 * spends.
 */
async function importInTurn(
  context: CardDataContext,
  requester: Requester,
  { includePin, key, publicToken }: CardDataWanted & ForSessionKey,
): Promise<DeviceSeal<SessionSealed>> {
  const { database, hsm, limits } = context
  // Nothing is locked: what is in order here is looked at again when the disclosure is recorded.
  const disclosure = { publicToken, includesPin: includePin }
  const { badSessionKeys, reveals } = limits
  await refuseDisclosure(context, requester, disclosure, [reveals, badSessionKeys])
  const session = await hsm.importSessionKey(key)
  if (session) return session
  // Counted, and committed, before it is answered: for the card and its client, or for neither.
  const { perCard = null, perClient = null } = badSessionKeys ?? {}
  await database.transaction(async (connection) => {
    await spendUse(connection, 'card', publicToken, perCard)
    await spendUse(connection, 'client', requester.clientId, perClient)
  })
  throw new Problem('invalid_session_key')
}
