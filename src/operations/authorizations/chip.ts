import { isChipRead, isStripeRead } from '../../domain/entry-mode.ts'
import type { MissingDataPolicy } from '../../domain/product-chip.ts'
import type { DeclineCode } from '../../domain/response-code.ts'
import type { AuthorizedCard, NamedCard } from '../../storage/authorizations/begin.ts'
import { findChip } from '../../storage/chips/find-chip.ts'
import { addStripeChecks, checkStripe } from '../chips/check-stripe.ts'
import { recordChipResults } from '../chips/commands.ts'
import type { ChipCheck, PresentedChip } from '../chips/presented-chip.ts'
import { declineReplayedChip, parseChip, readChip } from '../chips/read-chip.ts'
import type { Answer } from '../idempotency/idempotency.ts'
import type { Authorization, AuthorizationContext, AuthorizationRequest } from './authorization.ts'
import type { TracedRequest } from './trace.ts'

/**
 * Reads the chip and the stripe of a request; null without their data, or if the card has no chip.
 * Requests without them cost nothing, and both take one read of the database. The first objection
 * decides: the stripe of a wrong chip is not verified.
 */
export async function readRequestChip(
  context: AuthorizationContext,
  traced: TracedRequest,
  card: NamedCard,
): Promise<PresentedChip | null> {
  const { cavv, chip, networkId, pinBlock, track2 } = traced
  const hasValue = track2 !== undefined || cavv !== undefined
  if (!chip && !hasValue) return null
  const parsed = chip ? parseChip(chip) : null
  const key = { read: parsed, networkId: hasValue ? networkId : null }
  const found = await findChip(context.database, card, key)
  if (!found) return null
  const message = chip && { ...traced, chip, hasPinBlock: pinBlock !== undefined }
  const read = message && parsed ? await readChip(context, message, parsed, found) : null
  if (!hasValue || (read?.objection && read.checks.at(-1)?.check !== 'offline_pin')) return read
  return addStripeChecks(read, await checkStripe(context, traced, found))
}

/**
 * Lists the policies of a product's chip that decide on a request without the data of what was
 * read, in the order of their checks.
 */
export function listMissingData({
  cardRead,
  chip,
  isFallback = false,
  track2,
}: AuthorizationRequest): readonly MissingDataPolicy[] {
  if (isChipRead(cardRead)) return chip ? [] : ['missingData']
  if (track2 || !isStripeRead(cardRead)) return []
  return isFallback ? ['fallback', 'wrongCardValue'] : ['wrongCardValue']
}

/** Adds the chip, with the use that is still to be recorded. */
export function presentChip(
  traced: TracedRequest,
  chip: PresentedChip | null,
  outcome: string,
): TracedRequest {
  if (!chip) return traced
  if (outcome === 'replayed') return { ...traced, presentedChip: declineReplayedChip(chip) }
  const isUsed = outcome === 'spent' || outcome === 'none_left'
  return { ...traced, presentedChip: isUsed ? { ...chip, use: null } : chip }
}

/** Returns the first objection to the chip, or to its absence. */
export function objectToChip(
  traced: TracedRequest,
  { productChip }: AuthorizedCard,
): DeclineCode | null {
  const { presentedChip, trail } = traced
  for (const member of productChip ? listMissingData(traced) : []) {
    const policy = productChip?.[member] ?? 'decline'
    const check = missingChecks[member][policy]
    trail.note(check)
    if ('responseCode' in check) return check.responseCode
  }
  for (const check of presentedChip?.checks ?? []) trail.note(check)
  return presentedChip?.objection ?? null
}

/** The check of card data that a request does not have, by the policy on it. */
const missingChecks = {
  missingData: {
    decline: { check: 'chip', result: 'not_given', responseCode: '88' },
    record: { check: 'chip', result: 'not_given', findings: ['data_missing'] },
  },
  // Without a track, no service code says that the card has no chip.
  fallback: {
    decline: { check: 'chip', result: 'failed', findings: ['fallback'], responseCode: '57' },
    record: { check: 'chip', result: 'passed', findings: ['fallback'] },
  },
  wrongCardValue: {
    decline: { check: 'card_value', result: 'not_given', responseCode: '88' },
    record: { check: 'card_value', result: 'not_given', findings: ['data_missing'] },
  },
} satisfies Record<MissingDataPolicy, Record<'decline' | 'record', ChipCheck>>

/** Records what the chip reported of its commands, and which ones the answer carries. */
export async function recordResults(
  context: AuthorizationContext,
  chip: PresentedChip | null,
  { replayed, result }: Answer<Authorization>,
): Promise<void> {
  if (!chip?.reported || !result.chip || replayed) return
  const answered = await chip.answer(result.responseCode)
  await recordChipResults(context, chip.reported, answered?.sent ?? [])
}

/** Adds the answer to the chip, if the request has a chip to answer. */
export async function answerChip(
  { presentedChip }: Pick<TracedRequest, 'presentedChip'>,
  answer: Authorization,
): Promise<Authorization> {
  const answered = await presentedChip?.answer(answer.responseCode)
  return answered ? { ...answer, chip: { data: answered.data } } : answer
}

/** Composes the record of a chip whose use is not recorded yet: JSON, or null. */
export const toChipUse = (chip: PresentedChip | null | undefined): string | null =>
  chip?.use ? JSON.stringify(chip.use) : null
