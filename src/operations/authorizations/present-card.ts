import { expiryOfDate } from '../../domain/calendar.ts'
import { type CardStatusCode, statusAt } from '../../domain/card-status.ts'
import type { OpenedPinBlock } from '../../hsm/contract/hsm.ts'
import { type AuthorizedCard, findAuthorizedCard } from '../../storage/cards/authorizations.ts'
import {
  type AuthorizationContext,
  type AuthorizationRequest,
  askHsm,
  type NamedPinBlock,
  type ResponseCode,
} from './authorization.ts'
import type { TracedQuestion } from './checks.ts'

/** A card that may be tried, with the PIN block as the HSM has opened it. */
export interface Presentable {
  readonly objection: null
  readonly card: AuthorizedCard
  readonly pinBlock: OpenedPinBlock | null
}

/** A card that may be tried, or the first objection. */
export type Presented =
  | Presentable
  | { readonly objection: ResponseCode; readonly card: AuthorizedCard | null }
  | { readonly objection: '54'; readonly card: AuthorizedCard; readonly isExpiryWrong: true }

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

/** Everything that can be objected before a try is spent, in the order that networks expect. */
export async function presentCard(
  context: AuthorizationContext,
  asked: TracedQuestion,
): Promise<Presented> {
  const { note } = asked.trail
  const found = await findCard(context, asked)
  if (!found) return { objection: '96', card: null }
  const { card } = found
  if (!card) return { objection: '14', card: null }
  note({ check: 'card', result: 'passed' })
  const { expiryDate } = card
  const status = statusAt(card.statusCode, expiryOfDate(expiryDate), context.now())
  const objection = statusObjections[status]
  const result = objection ? 'failed' : 'passed'
  note({ check: 'status', result, cardStatusCode: status, responseCode: objection })
  if (objection) return { objection, card }
  if (asked.expiryDate !== undefined && asked.expiryDate !== expiryDate.slice(0, 7)) {
    note({ check: 'expiry', result: 'failed', responseCode: '54' })
    return { objection: '54', card, isExpiryWrong: true }
  }
  note({ check: 'expiry', result: asked.expiryDate === undefined ? 'not_given' : 'passed' })
  if (asked.pinBlock) {
    const presented = await presentPinBlock(context, card, asked.pinBlock)
    note({ check: 'pin_block', ...pinBlockResult(presented.objection) })
    return presented
  }
  const noPin = asked.entryMode === 'atm' ? '86' : null
  note({ check: 'pin_block', result: 'not_given', responseCode: noPin ?? undefined })
  return noPin ? { objection: noPin, card } : { objection: null, card, pinBlock: null }
}

/** What is wrong with a block is no more on record than it is answered. */
function pinBlockResult(objection: ResponseCode | null) {
  if (objection === null) return { result: 'passed' } as const
  const result = objection === '96' ? 'unresolved' : 'failed'
  return { result, responseCode: objection } as const
}

/** The card with the zone key that its block names, in one read; null where the HSM gives no answer. */
async function findCard(
  context: AuthorizationContext,
  { card, networkId, pinBlock }: AuthorizationRequest,
): Promise<{ readonly card: AuthorizedCard | null } | null> {
  if (card === null) return { card: null }
  const zoneKey = pinBlock ? { networkId, keyName: pinBlock.key } : null
  const { database, hsm } = context
  if (!('pan' in card)) return { card: await findAuthorizedCard(database, card, zoneKey) }
  const known = await askHsm(context, () => hsm.fingerprintPan(card.pan))
  if (!known) return null
  const panFingerprints = known.map(({ fingerprint }) => fingerprint)
  return { card: await findAuthorizedCard(database, { panFingerprints }, zoneKey) }
}

/** Every kind of bad block looks the same: what is wrong with it would say something of the key or the PIN. */
async function presentPinBlock(
  context: AuthorizationContext,
  card: AuthorizedCard,
  { data, format }: NamedPinBlock,
): Promise<Presented> {
  const { zoneKeyBlock, zoneKeyFormats } = card
  if (zoneKeyBlock === null || !zoneKeyFormats?.includes(format)) return { objection: '86', card }
  const bytes = Buffer.from(data, 'hex')
  if (bytes.length * 2 !== data.length) return { objection: '86', card }
  const answer = await askHsm(context, async () => ({
    opened: await context.hsm.openPinBlock(card, { format, bytes, zoneKeyBlock }),
  }))
  if (!answer) return { objection: '96', card }
  const { opened: pinBlock } = answer
  return pinBlock ? { objection: null, card, pinBlock } : { objection: '86', card }
}
