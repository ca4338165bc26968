import { type CardStatusCode, statusAt } from '../domain/card-status.ts'
import { expiryOfDate } from '../domain/expiry.ts'
import { parsePan } from '../domain/pan.ts'
import type { EncryptedPinBlock } from '../hsm/hsm.ts'
import {
  type AuthorizedCard,
  findAuthorizedCard,
  findTokenByPan,
} from '../storage/authorizations.ts'
import { findZoneKey } from '../storage/zone-keys.ts'
import type { ResponseCode } from './authorization-schema.ts'
import { type Authorizing, askHsm, type NamedPinBlock, type Question } from './authorizing.ts'

/** A card that may be tried, with the PIN block as the HSM takes it; or the first objection. */
export type Presented =
  | {
      readonly objection: null
      readonly card: AuthorizedCard
      readonly pinBlock: EncryptedPinBlock | null
    }
  | { readonly objection: ResponseCode; readonly card: AuthorizedCard | null }
  | { readonly objection: '54'; readonly card: AuthorizedCard; readonly isExpiryWrong: true }

/** Everything that can be objected before a try is spent, in the order that networks expect. */
export async function presentCard(
  authorizing: Authorizing,
  question: Question,
): Promise<Presented> {
  const publicToken = await findToken(authorizing, question)
  if (publicToken === null) return { objection: '96', card: null }
  const card = publicToken && (await findAuthorizedCard(authorizing.database, publicToken))
  if (!card) return { objection: '14', card: null }
  const objection = statusObjection(authorizing, card)
  if (objection) return { objection, card }
  if (isExpiryWrong(card, question)) return { objection: '54', card, isExpiryWrong: true }
  if (!question.pinBlock) {
    const isPinDue = question.entryMode === 'atm'
    return isPinDue ? { objection: '86', card } : { objection: null, card, pinBlock: null }
  }
  return presentPinBlock(authorizing, card, question.networkId, question.pinBlock)
}

/** The token of the card, `''` where there is none, null where the HSM gives no answer. */
async function findToken(authorizing: Authorizing, { card }: Question): Promise<string | null> {
  if ('publicToken' in card) return /^[1-9][0-9]{9}$/.test(card.publicToken) ? card.publicToken : ''
  const pan = parsePan(card.pan)
  if (!pan) return ''
  const fingerprints = await askHsm(authorizing, () => authorizing.hsm.fingerprintPan(pan))
  if (!fingerprints) return null
  for (const { fingerprint } of fingerprints) {
    const token = await findTokenByPan(authorizing.database, fingerprint)
    if (token !== null) return token
  }
  return ''
}

/** What each status that does not authorize answers. */
const statusObjections: Readonly<Partial<Record<CardStatusCode, ResponseCode>>> = {
  '02': '78',
  '41': '41',
  '43': '43',
  '46': '46',
  '54': '54',
  '62': '62',
  '83': '46',
}

function statusObjection(
  { now }: Authorizing,
  { expiryDate, statusCode }: AuthorizedCard,
): ResponseCode | undefined {
  return statusObjections[statusAt(statusCode, expiryOfDate(expiryDate), now())]
}

const isExpiryWrong = (card: AuthorizedCard, { expiryDate }: Question): boolean =>
  expiryDate !== undefined && expiryDate !== card.expiryDate.slice(0, 7)

/** Every kind of bad block looks the same: what is wrong with it would tell about the key or the PIN. */
async function presentPinBlock(
  authorizing: Authorizing,
  card: AuthorizedCard,
  networkId: string,
  named: NamedPinBlock,
): Promise<Presented> {
  const zoneKey = await findZoneKey(authorizing.database, networkId, named.key)
  if (!zoneKey?.pinBlockFormats.includes(named.format)) return { objection: '86', card }
  const bytes = Buffer.from(named.data, 'hex')
  if (bytes.length * 2 !== named.data.length) return { objection: '86', card }
  const pinBlock = { format: named.format, bytes, zoneKeyBlock: zoneKey.keyBlock }
  const isReadable = await askHsm(authorizing, () =>
    authorizing.hsm.isPinBlockReadable(card, pinBlock),
  )
  if (isReadable === null) return { objection: '96', card }
  return isReadable ? { objection: null, card, pinBlock } : { objection: '86', card }
}
