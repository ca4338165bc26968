import { formatDate } from '../../domain/calendar.ts'
import { findGraceStart } from '../../domain/card-life.ts'
import type { Requester } from '../../domain/client.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import { Problem } from '../../domain/problem.ts'
import type { CardNumber } from '../../hsm/contract/card.ts'
import type { NewCardRow } from '../../storage/cards/create-card.ts'
import * as stored from '../../storage/cards/replacements.ts'
import { type Answer, commitOnce, type RepeatableRequest } from '../idempotency/idempotency.ts'
import { createDraw } from './card-number.ts'
import { composeCardRow } from './card-row.ts'
import * as cards from './cards.ts'
import { sealFreeTexts } from './free-texts.ts'
import { revealPersonalData } from './personal-data.ts'
import * as plans from './replacement-plan.ts'
import { findUnblockLimit } from './tries.ts'

/** The answer of a replacement: the new card. */
export interface Successor extends cards.CreatedCard {
  readonly replacementFor: PublicToken
  /** Whether the successor has the PIN of the replaced card. */
  readonly pinMoved: boolean
}

/**
 * Replaces a card by a new one, with another number and the same holder and controls. The replaced
 * card works until the new one is activated, unless the reason ends it.
 * @throws `Problem` `card_not_found`, `card_closed`, `card_already_replaced`,
 *   `product_not_available`, `pin_not_transferable`; `validation_failed` for members that the
 *   product does not allow.
 */
export function replaceCard(
  context: cards.CardContext,
  requester: cards.CardActor,
  replacement: plans.Replacement,
  request: RepeatableRequest | null,
): Promise<Answer<Successor>> {
  let draw: ReturnType<typeof createDraw> | null = null
  return commitOnce<Successor>(context, request, async (claimFor) => {
    const today = formatDate(context.now())
    const card = await plans.findCardInLine(context, requester, replacement.publicToken)
    const status = await plans.refuseReplacement(context, card, today)
    const plan = await plans.planSuccessor(context, requester, replacement, { card, status, today })
    draw ??= createDraw(card.lineToken)
    const number = await draw(context, plan.product)
    const { result, row } = await composeSuccessor(context, requester, replacement, plan, number)
    const claim = await claimFor(result)
    const { pinSource, reason } = plan
    const { pinMoved, publicToken } = result
    const note = replacement.note ?? {}
    const isDone = await stored.insertReplacement(context.database, {
      replaced: card,
      to: plan.to,
      isRetired: plans.isEndedBy(reason, status),
      reason,
      today,
      expiredSince: findGraceStart(card, today),
      successorToken: publicToken,
      card: row,
      productVersion: plan.product.version,
      panFingerprints: number.panFingerprints,
      freeTexts: await sealFreeTexts(context.hsm, publicToken, 0, replacement),
      pinSource,
      isPinRequested: replacement.movePin === true,
      unblockLimit: findUnblockLimit(context, 'pin'),
      requestId: requester.requestId,
      replacedDetails: { replacedBy: publicToken, reason, pinMoved },
      createdDetails: {
        cardProduct: row.productId,
        cardType: row.cardType,
        cardStatusCode: row.statusCode,
        replacementFor: card.publicToken,
      },
      note: await cards.sealNote(context, card.publicToken, note),
      createdNote: await cards.sealNote(context, publicToken, note),
      operatorId: requester.operatorId ?? null,
      claim,
    })
    return { isDone, result }
  })
}

/** Composes the row of a successor under its number, and the answer that describes it. */
async function composeSuccessor(
  { hsm }: cards.CardContext,
  { clientId }: Requester,
  { fulfilment }: plans.Replacement,
  { card, pinSource, ...plan }: plans.SuccessorPlan,
  number: CardNumber,
): Promise<{ readonly row: NewCardRow; readonly result: Successor }> {
  const { cardType, customerReference, designId, metadata, publicToken: replaced } = card
  const personalData = await revealPersonalData(hsm, replaced, card.personalData)
  const row = await composeCardRow(hsm, {
    ...plan,
    clientId,
    number,
    cardType,
    customerReference,
    designId,
    personalData: { ...personalData, ...(fulfilment && { fulfilment }) },
    pin: pinSource && (await hsm.translatePin(pinSource, pinSource.pin, number)),
  })
  const described = { ...row, publicToken: number.publicToken }
  const result: Successor = {
    ...cards.describeCard(described, row.statusCode, personalData.embossName),
    ...(metadata !== null && { metadata: JSON.parse(metadata) as Record<string, string> }),
    replacementFor: replaced,
    pinMoved: pinSource !== null,
  }
  return { row, result }
}

/**
 * Retires a replaced card, whether or not its successor has been activated. A card that is closed
 * or retired does not change.
 * @throws `Problem` `card_not_found`, `not_replaced`.
 */
export const completeReplacement = (
  context: cards.CardContext,
  requester: Requester,
  publicToken: PublicToken,
  request: RepeatableRequest | null,
): Promise<Answer<null>> =>
  commitOnce<null>(context, request, async (claimFor) => {
    const today = formatDate(context.now())
    const replaced = await plans.findCardInLine(context, requester, publicToken)
    const successor = await stored.findSuccessor(context.database, replaced, today)
    if (successor === null) {
      const detail = 'Only a card with a successor can be retired. Replace the card first.'
      throw new Problem('not_replaced', { detail })
    }
    const isDone = await stored.completeReplacement(context.database, {
      replaced,
      clientId: requester.clientId,
      today,
      requestId: requester.requestId,
      claim: await claimFor(null),
    })
    return { isDone, result: null }
  })
