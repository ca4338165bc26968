import {
  addDays,
  type Expiry,
  expiryMonthsAfter,
  formatDate,
  toExpiry,
} from '../../domain/calendar.ts'
import {
  findGraceStart,
  findLifeStatus,
  type LifeStatus,
  lifeActs,
} from '../../domain/card-life.ts'
import { isFinal } from '../../domain/card-status.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import { Problem, validationFailed } from '../../domain/problem.ts'
import * as stored from '../../storage/cards/renewals.ts'
import { findSuccessor } from '../../storage/cards/replacements.ts'
import { type Answer, commitOnce, type RepeatableRequest } from '../idempotency/idempotency.ts'
import * as cards from './cards.ts'
import { type FreeTexts, sealFreeTexts } from './free-texts.ts'
import { type Address, revealPersonalData, sealPersonalData } from './personal-data.ts'
import { alreadyReplaced } from './replacements.ts'

/** The steps of a renewal. */
export const renewSteps = ['Renew', 'Migrate', 'RenewWithSameExpiry'] as const

/** A renewal of a card: its next plastic, under the same number. */
interface Renewal extends FreeTexts {
  readonly publicToken: PublicToken
  readonly step: (typeof renewSteps)[number]
  /** Of the new plastic; by default, the product's validity after the present expiry. */
  readonly expiry?: Expiry
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
    const status = findStatus(context, card)
    if (step === 'Migrate') {
      const plasticNumber = findMigrated(card, status, today)
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
  renewal: Pick<Renewal, 'step' | 'expiry'> & { readonly endsReprint?: boolean },
  today: string,
): Promise<PlannedRenewal> {
  const { endsReprint = false } = renewal
  await refuseReplaced(context, card, today)
  refuseRenewal(card, findStatus(context, card), { endsReprint, today })
  return {
    plasticNumber: nextPlasticNumber(card),
    isCurrent: card.cardType === 'Virtual',
    today,
    expiredSince: findGraceStart(card.renewalGraceMonths, today),
    expiryDate: findExpiry(card, renewal, today).lastDay(),
  }
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
 * @throws `Problem` `card_not_found`, `card_closed`, `nothing_to_migrate`, `renewal_produced`;
 *   `renewal_in_progress` if the card could not be renewed without the plastic.
 */
export const cancelRenewal = (
  context: cards.CardContext,
  requester: cards.CardActor,
  { isNotReceived, note = {}, publicToken }: RenewalCancellation,
  request: RepeatableRequest | null,
): Promise<Answer<null>> =>
  commitOnce<null>(context, request, async (claimFor) => {
    const card = await findCard(context, requester, publicToken)
    const { waitingDeliveryStatus, waitingNumber } = card
    const status = findStatus(context, card)
    if (lifeActs[status].renew === 'no') throw cards.cardClosed(status)
    if (waitingNumber === null) {
      refuseReturned(card)
      throw new Problem('nothing_to_migrate')
    }
    const isOnItsWay = waitingDeliveryStatus !== 'Ordered' && waitingDeliveryStatus !== 'Returned'
    if (isOnItsWay && !isNotReceived) throw new Problem('renewal_produced')
    refuseEnd(card, waitingNumber, formatDate(context.now()))
    const act = {
      ...pickActor(requester),
      publicToken,
      plasticNumber: waitingNumber,
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
    refuseConversion(card, findStatus(context, card))
    const today = formatDate(context.now())
    await refuseReplaced(context, card, today)
    const plasticNumber = nextPlasticNumber(card)
    const { hsm } = context
    const { fulfilment } = conversion
    const result = {
      ...(await cards.findCard(context, requester, publicToken)),
      cardType: 'Physical',
      startDate: today,
    } as const
    const act = {
      ...pickActor(requester),
      publicToken,
      plasticNumber,
      note: null,
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
 * Activates the plastic of a converted card.
 * @returns whether it was done: not if the card has changed meanwhile.
 * @throws `Problem` `nothing_to_migrate` if the plastic was returned.
 */
export async function activateConverted(
  context: cards.CardContext,
  requester: cards.CardActor,
  { note, publicToken }: { readonly publicToken: PublicToken; readonly note: cards.ChangeNote },
  claim: stored.PlasticAct['claim'],
): Promise<boolean> {
  const card = await findCard(context, requester, publicToken)
  refuseReturned(card)
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

const findStatus = (
  context: Pick<cards.CardContext, 'now'>,
  card: stored.CardToRenew,
): LifeStatus => findLifeStatus(cards.statusNow(context, card), card.isRetired)

/** Whether an expired card can still be renewed. */
const isWithinGrace = (card: stored.CardToRenew, today: string): boolean =>
  card.validUntil >= findGraceStart(card.renewalGraceMonths, today)

/** Returns the number of the plastic that waits. */
function findMigrated(card: stored.CardToRenew, status: LifeStatus, today: string): number {
  if (lifeActs[status].renew === 'no') throw cards.cardClosed(status)
  const { isPlasticInactive, plasticNumber, waitingDeliveryStatus, waitingNumber } = card
  if (waitingNumber === null && isPlasticInactive && status === '00') {
    refuseReturned(card)
    return plasticNumber
  }
  if (waitingNumber !== null && card.validUntil < today) throw cards.cardClosed('54')
  if (waitingNumber === null && isPlasticInactive) {
    const detail = `The card must be active (00) before plastic ${plasticNumber} is activated.`
    throw new Problem('nothing_to_migrate', { detail })
  }
  if (waitingNumber === null) throw new Problem('nothing_to_migrate')
  if (waitingDeliveryStatus !== 'Returned') return waitingNumber
  const detail = `Plastic ${waitingNumber} was returned. Order another, which ends this one.`
  throw new Problem('nothing_to_migrate', { detail })
}

/**
 * Refuses an act on a current plastic that is not in the hands of its cardholder.
 * @throws `Problem` `nothing_to_migrate`.
 */
export function refuseReturned({
  deliveryStatus,
  plasticNumber,
}: Pick<stored.CardToRenew, 'deliveryStatus' | 'plasticNumber'>): void {
  if (deliveryStatus !== 'Returned') return
  const detail = `Plastic ${plasticNumber} was returned. Order another: RenewWithSameExpiry.`
  throw new Problem('nothing_to_migrate', { detail })
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

/** Refuses to cancel a plastic without which the card has expired too long ago to be renewed. */
function refuseEnd(card: stored.CardToRenew, waitingNumber: number, today: string): void {
  const { expiryDate, renewalGraceMonths } = card
  if (expiryDate >= findGraceStart(renewalGraceMonths, today)) return
  const detail =
    `The card expired after ${expiryDate} but for plastic ${waitingNumber}, ` +
    'too long ago to be renewed without it. If it was returned, order another. ' +
    'If it was lost, replace the card.'
  throw new Problem('renewal_in_progress', { detail })
}

/** Whether the plastic that waits ends with the order of another. */
function isEndedByOrder(
  { expiryDate, waitingDeliveryStatus, waitingExpiryDate }: stored.CardToRenew,
  { endsReprint, today }: { readonly endsReprint: boolean; readonly today: string },
): boolean {
  if (waitingExpiryDate === null || waitingExpiryDate < today) return true
  if (waitingDeliveryStatus === 'Returned') return true
  const isReprint = endsReprint && waitingExpiryDate === expiryDate
  return isReprint && (waitingDeliveryStatus === 'Ordered' || waitingExpiryDate === today)
}

function refuseRenewal(
  card: stored.CardToRenew,
  status: LifeStatus,
  order: { readonly endsReprint: boolean; readonly today: string },
): void {
  const { waitingNumber } = card
  const { today } = order
  const { renew } = lifeActs[status]
  if (renew === 'no') throw cards.cardClosed(status)
  if (waitingNumber !== null && !isEndedByOrder(card, order)) {
    const detail = `Plastic ${waitingNumber} waits, with the expiry ${card.validUntil}.`
    throw new Problem('renewal_in_progress', { detail })
  }
  if (renew === 'within_grace' && !isWithinGrace(card, today)) {
    const detail = `The card expired after ${card.validUntil}, too long ago to be renewed.`
    throw new Problem('card_closed', { detail })
  }
}

/** Returns the expiry of the new plastic. */
function findExpiry(
  card: stored.CardToRenew,
  renewal: Pick<Renewal, 'step' | 'expiry'>,
  today: string,
): Expiry {
  const { expiryDate, renewalEarliestDays, validityMonths } = card
  const present = toExpiry(expiryDate)
  if (renewal.step === 'RenewWithSameExpiry') {
    if (expiryDate >= today) return present
    throw new Problem('card_closed', { detail: 'An expired card needs a later expiry.' })
  }
  const earliest = addDays(expiryDate, -renewalEarliestDays)
  if (today < earliest) {
    throw new Problem('renewal_not_due', { detail: `It can be renewed from ${earliest} on.` })
  }
  // An expired card counts from today.
  const latest = expiryMonthsAfter(expiryDate >= today ? expiryDate : today, validityMonths)
  const { expiry = latest } = renewal
  const fault = findExpiryFault(expiry, { present, latest, today })
  if (fault !== null) throw validationFailed({ pointer: '/expiryDate', detail: fault })
  return expiry
}

function findExpiryFault(
  expiry: Expiry,
  { latest, present, today }: Readonly<Record<'present' | 'latest', Expiry>> & { today: string },
): string | null {
  if (expiry.yearMonth() <= present.yearMonth()) return `must be after ${present.yearMonth()}`
  if (expiry.lastDay() <= today) return 'must be in the future'
  if (expiry.yearMonth() <= latest.yearMonth()) return null
  return `must not be after ${latest.yearMonth()}, the product's validity`
}

/** The PAN sequence number of a chip has two digits. */
const plasticNumberMost = 99

function nextPlasticNumber({ newestNumber }: stored.CardToRenew): number {
  if (newestNumber < plasticNumberMost) return newestNumber + 1
  throw new Problem('too_many_plastics')
}

function refuseConversion(card: stored.CardToRenew, status: LifeStatus): void {
  if (status === 'retired' || isFinal(status)) throw cards.cardClosed(status)
  if (card.cardType === 'Physical') {
    throw new Problem('conversion_not_supported', { detail: 'The card is physical.' })
  }
  if (!card.productCardTypes.includes('Physical')) {
    const detail = 'The product of the card has no physical cards.'
    throw new Problem('conversion_not_supported', { detail })
  }
  if (lifeActs[status].convert === 'yes') return
  throw new Problem('card_status_conflict', { detail: 'Only an active card (00) is converted.' })
}
