import { formatDate } from '../../domain/calendar.ts'
import { findGraceStart, lifeActs } from '../../domain/card-life.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import { Problem } from '../../domain/problem.ts'
import * as stored from '../../storage/cards/renewals.ts'
import { findSuccessor } from '../../storage/cards/replacements.ts'
import { type Answer, commitOnce, type RepeatableRequest } from '../idempotency/idempotency.ts'
import * as cards from './cards.ts'
import { type FreeTexts, sealFreeTexts } from './free-texts.ts'
import { type Address, revealPersonalData, sealPersonalData } from './personal-data.ts'
import * as rules from './renewal-rules.ts'
import { alreadyReplaced } from './replacement-plan.ts'

/** A renewal of a card: its next plastic, under the same number. */
interface Renewal extends rules.PlasticOrder, FreeTexts {
  readonly publicToken: PublicToken
  /** Whether a physical plastic becomes current at once. */
  readonly activateNow?: boolean
  readonly note?: cards.ChangeNote
}

/**
 * Renews a card: orders its next plastic, or makes the plastic that waits current. The plastic of a
 * virtual card is current at once.
 * @throws `Problem` `card_not_found`, `card_closed`, `card_already_replaced`, `renewal_not_due`,
 *   `renewal_in_progress`, `nothing_to_migrate`, `too_many_plastics`; `validation_failed` for an
 *   expiry that the product does not allow.
 */
export const renewCard = (
  context: cards.CardContext,
  requester: cards.CardActor,
  renewal: Renewal,
  request: RepeatableRequest | null,
): Promise<Answer<null>> =>
  commitOnce<null>(context, request, async (claimFor) => {
    const { publicToken, step } = renewal
    const card = await findCard(context, requester, publicToken)
    const act = {
      ...pickActor(requester),
      publicToken,
      note: await cards.sealNote(context, publicToken, renewal.note ?? {}),
      claim: await claimFor(null),
    }
    const today = formatDate(context.now())
    if (step === 'Migrate') {
      const plasticNumber = await planMigration(context, card, today)
      const isDone = await stored.activatePlastic(
        context.database,
        { ...act, plasticNumber },
        today,
      )
      return { isDone, result: null }
    }
    const { plasticNumber, ...plan } = await planRenewal(context, card, renewal, today)
    const isDone = await stored.orderPlastic(
      context.database,
      { ...act, plasticNumber },
      {
        reason: step === 'Renew' ? 'Renewal' : 'Reprint',
        ...plan,
        isCurrent: plan.isCurrent || renewal.activateNow === true,
        freeTexts: await sealFreeTexts(context.hsm, publicToken, plasticNumber, renewal),
        formerPersonalData: null,
        personalData: null,
      },
    )
    return { isDone, result: null }
  })

/** The plastic that a renewal orders. */
export interface PlannedRenewal {
  readonly plasticNumber: number
  /** Whether it becomes current at once: a virtual card has nothing to deliver. */
  readonly isCurrent: boolean
  /** `YYYY-MM-DD` */
  readonly today: string
  /** `YYYY-MM-DD`: a card that expired before this day is refused. */
  readonly expiredSince: string
  /** `YYYY-MM-DD` */
  readonly expiryDate: string
}

/**
 * Plans the plastic that a renewal orders on a day.
 * @param renewal `endsReprint`: a copy of the present plastic that waits does not refuse it.
 * @param today `YYYY-MM-DD`
 * @throws as {@link renewCard}.
 */
export async function planRenewal(
  context: Pick<cards.CardContext, 'database' | 'now'>,
  card: stored.CardToRenew,
  renewal: rules.PlasticOrder & { readonly endsReprint?: boolean },
  today: string,
): Promise<PlannedRenewal> {
  const { endsReprint = false } = renewal
  await refuseReplaced(context, card, today)
  rules.refuseRenewal(card, cards.lifeStatusNow(context, card), { endsReprint, today })
  return {
    plasticNumber: rules.findNextPlasticNumber(card),
    isCurrent: card.cardType === 'Virtual',
    today,
    expiredSince: findGraceStart(card, today),
    expiryDate: rules.findExpiry(card, renewal, today).lastDay(),
  }
}

/**
 * Returns the number of the plastic that a migration makes current on a day.
 * @param today `YYYY-MM-DD`
 * @throws `Problem` `card_closed`, `card_already_replaced`, `nothing_to_migrate`.
 */
export async function planMigration(
  context: Pick<cards.CardContext, 'database' | 'now'>,
  card: stored.CardToRenew,
  today: string,
): Promise<number> {
  await refuseClosedOrReplaced(context, card, today)
  return rules.findMigrated(card, cards.lifeStatusNow(context, card), today)
}

/**
 * Returns the number of the plastic that a cancellation ends.
 * @param cancellation `isNotReceived`: it was produced, and did not reach the cardholder. `today`:
 *   `YYYY-MM-DD`.
 * @throws as {@link cancelRenewal}.
 */
export async function planCancellation(
  context: Pick<cards.CardContext, 'database' | 'now'>,
  card: stored.CardToRenew,
  cancellation: { readonly isNotReceived: boolean; readonly today: string },
): Promise<number> {
  await refuseClosedOrReplaced(context, card, cancellation.today)
  return rules.findCancelled(card, cancellation)
}

/** The cancellation of the plastic that waits. */
interface RenewalCancellation {
  readonly publicToken: PublicToken
  /** Whether it was produced, and did not reach the cardholder. */
  readonly isNotReceived: boolean
  readonly note?: cards.ChangeNote
}

/**
 * Cancels the plastic that waits. The present one is used further.
 * @throws `Problem` `card_not_found`, `card_closed`, `card_already_replaced`, `nothing_to_migrate`,
 *   `renewal_produced`; `renewal_in_progress` if the card could not be renewed without the plastic.
 */
export const cancelRenewal = (
  context: cards.CardContext,
  requester: cards.CardActor,
  { isNotReceived, note = {}, publicToken }: RenewalCancellation,
  request: RepeatableRequest | null,
): Promise<Answer<null>> =>
  commitOnce<null>(context, request, async (claimFor) => {
    const card = await findCard(context, requester, publicToken)
    const today = formatDate(context.now())
    const plasticNumber = await planCancellation(context, card, { isNotReceived, today })
    const act = {
      ...pickActor(requester),
      publicToken,
      plasticNumber,
      note: await cards.sealNote(context, publicToken, note),
      claim: await claimFor(null),
    }
    const isDone = await stored.cancelPlastic(context.database, act, isNotReceived)
    return { isDone, result: null }
  })

/** A virtual card that gets plastic. */
interface Conversion extends FreeTexts {
  readonly publicToken: PublicToken
  /** Where the plastic goes; by default to the address of the cardholder. */
  readonly fulfilment?: Address
  readonly note?: cards.ChangeNote
}

/**
 * Converts a virtual card to a physical one, with the same number and expiry. The card works on
 * without its plastic, which is inactive until it is activated.
 * @throws `Problem` `card_not_found`, `card_closed`, `card_already_replaced`,
 *   `card_status_conflict`, `too_many_plastics`, `conversion_not_supported`.
 */
export const convertCard = (
  context: cards.CardContext,
  requester: cards.CardActor,
  conversion: Conversion,
  request: RepeatableRequest | null,
): Promise<Answer<cards.CardRecord>> =>
  commitOnce<cards.CardRecord>(context, request, async (claimFor) => {
    const { publicToken } = conversion
    const card = await findCard(context, requester, publicToken)
    const today = formatDate(context.now())
    const plasticNumber = await planConversion(context, card, today)
    const { hsm } = context
    const { fulfilment } = conversion
    const result = {
      ...(await cards.describeRecord(context, card)),
      cardType: 'Physical',
      startDate: today,
    } as const
    const act = {
      ...pickActor(requester),
      publicToken,
      plasticNumber,
      note: await cards.sealNote(context, publicToken, conversion.note ?? {}),
      claim: await claimFor(result),
    }
    const isDone = await stored.orderPlastic(context.database, act, {
      reason: 'Conversion',
      isCurrent: true,
      today,
      expiredSince: today,
      expiryDate: card.expiryDate,
      freeTexts: await sealFreeTexts(hsm, publicToken, plasticNumber, conversion),
      formerPersonalData: fulfilment ? card.personalData : null,
      personalData: fulfilment
        ? await sealPersonalData(hsm, publicToken, {
            ...(await revealPersonalData(hsm, publicToken, card.personalData)),
            fulfilment,
          })
        : null,
    })
    return { isDone, result }
  })

/**
 * Returns the number of the plastic that a conversion orders.
 * @param today `YYYY-MM-DD`
 * @throws as {@link convertCard}.
 */
export async function planConversion(
  context: Pick<cards.CardContext, 'database' | 'now'>,
  card: stored.CardToRenew,
  today: string,
): Promise<number> {
  await refuseReplaced(context, card, today)
  rules.refuseConversion(card, cards.lifeStatusNow(context, card))
  return rules.findNextPlasticNumber(card)
}

/**
 * Activates the plastic of a converted card.
 * @returns whether it was done: not if the card has changed meanwhile.
 * @throws `Problem` `nothing_to_migrate` if the plastic was returned or has expired.
 */
export async function activateConverted(
  context: cards.CardContext,
  requester: cards.CardActor,
  { note, publicToken }: { readonly publicToken: PublicToken; readonly note: cards.ChangeNote },
  claim: stored.PlasticAct['claim'],
): Promise<boolean> {
  const card = await findCard(context, requester, publicToken)
  rules.refuseActivation(card, formatDate(context.now()))
  const act = {
    ...pickActor(requester),
    publicToken,
    plasticNumber: card.plasticNumber,
    note: await cards.sealNote(context, publicToken, note),
    claim,
  }
  return stored.activatePlastic(context.database, act, formatDate(context.now()))
}

async function findCard(
  { database }: cards.CardContext,
  { clientId }: cards.CardActor,
  publicToken: PublicToken,
): Promise<stored.CardToRenew> {
  const card = await stored.findCardToRenew(database, publicToken, clientId)
  if (!card) throw new Problem('card_not_found')
  return card
}

const pickActor = ({ clientId, operatorId, requestId }: cards.CardActor) => ({
  clientId,
  requestId,
  ...(operatorId !== undefined && { operatorId }),
})

/** Refuses a closed card. If it was replaced, the refusal names its successor. */
async function refuseClosedOrReplaced(
  context: Pick<cards.CardContext, 'database' | 'now'>,
  card: stored.CardToRenew,
  today: string,
): Promise<void> {
  const status = cards.lifeStatusNow(context, card)
  if (lifeActs[status].renew !== 'no') return
  await refuseReplaced(context, card, today)
  throw cards.cardClosed(status)
}

/** Refuses a card whose successor has, or can have, its place. */
async function refuseReplaced(
  { database }: Pick<cards.CardContext, 'database'>,
  card: stored.CardToRenew,
  today: string,
): Promise<void> {
  const replacedBy = await findSuccessor(database, card, today)
  if (replacedBy !== null) throw alreadyReplaced(replacedBy)
}
