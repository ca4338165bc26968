import { addDays, formatDate } from '../../domain/calendar.ts'
import type { CardStatusCode } from '../../domain/card-status.ts'
import type { Requester } from '../../domain/client.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import { Problem, type ProblemCode } from '../../domain/problem.ts'
import { renewalNoticeDays } from '../../domain/product.ts'
import { operatorReplacementReasons } from '../../domain/replacement.ts'
import { type CardToRenew, findCardToRenew } from '../../storage/cards/renewals.ts'
import { findOwner } from '../../storage/cards/search.ts'
import { type CardContext, statusNow } from './cards.ts'
import { revealPersonalData } from './personal-data.ts'
import * as rules from './renewal-rules.ts'
import { planCancellation, planConversion, planMigration, planRenewal } from './renewals.ts'
import { type ForeseenSuccessor, foreseeSuccessors } from './replacement-plan.ts'
import { refuseMove } from './status.ts'

/** The effects that an act would have now, or the refusal that it would get. */
type Foreseen<Effects> =
  | ({ readonly possible: true } & Effects)
  | { readonly possible: false; readonly code: ProblemCode; readonly detail?: string }

/** A plastic that would be ordered. */
interface ForeseenPlastic {
  readonly plasticNumber: number
  /** `YYYY-MM-DD` */
  readonly expiryDate: string
  /** Whether it would be current at once. */
  readonly current: boolean
}

/** The acts of card life that an operator can do now on a card, with their effects. */
interface PossibleActs {
  /** The act that its cardholder needs; null without one. */
  readonly recommended: 'renew' | 'replace' | null
  /** The address on record that a plastic would go to; null for a virtual card. */
  readonly deliveredTo: 'fulfilment' | 'address' | null
  readonly activate: Foreseen<object>
  readonly renew: Foreseen<ForeseenPlastic>
  readonly reprint: Foreseen<ForeseenPlastic>
  readonly migrate: Foreseen<{ readonly plasticNumber: number }>
  /** `notReceived`: the plastic was made, so that it must be lost to be cancelled. */
  readonly cancelRenewal: Foreseen<{
    readonly plasticNumber: number
    readonly notReceived: boolean
  }>
  /** Gives a virtual card plastic, which goes to the address of the cardholder. */
  readonly convert: Foreseen<{
    readonly plasticNumber: number
    /** `YYYY-MM-DD`, as that of the card. */
    readonly expiryDate: string
  }>
  /** By each reason that the status of the card allows. */
  readonly replace: Foreseen<{ readonly successors: ForeseenSuccessor[] }>
}

/**
 * Finds the acts of card life that an operator can do now on a card of any client. It asks the
 * rules of the acts, and changes nothing.
 * @throws `Problem` `card_not_found`.
 */
export async function findPossibleActs(
  context: CardContext,
  publicToken: PublicToken,
): Promise<PossibleActs> {
  const { database, hsm } = context
  const clientId = await findOwner(database, publicToken)
  const card = clientId === null ? null : await findCardToRenew(database, publicToken, clientId)
  if (clientId === null || card === null) throw new Problem('card_not_found')
  const at = context.now()
  const now = { ...context, now: () => at }
  const today = formatDate(at)
  const code = statusNow(now, card)
  const order = (step: 'Renew' | 'RenewWithSameExpiry') =>
    foresee(() => foreseePlastic(now, card, step, today))
  const [activate, renew, reprint, migrate, cancelRenewal, convert, replace] = await Promise.all([
    foresee(() => foreseeActivation(card, code, today)),
    order('Renew'),
    order('RenewWithSameExpiry'),
    foresee(async () => ({ plasticNumber: await planMigration(now, card, today) })),
    foresee(async () => ({
      plasticNumber: await planCancellation(now, card, { isNotReceived: true, today }),
      notReceived: rules.isOnItsWay(card),
    })),
    foresee(async () => ({
      plasticNumber: await planConversion(now, card, today),
      expiryDate: card.expiryDate,
    })),
    foresee(() => foreseeReplacement(now, { clientId }, publicToken)),
  ])
  // Opened only for the address of a plastic.
  const personal =
    card.cardType === 'Virtual'
      ? null
      : await revealPersonalData(hsm, publicToken, card.personalData)
  return {
    recommended: recommendAct(card, code, {
      mayRenew: renew.possible,
      mayReplace: replace.possible,
      today,
    }),
    deliveredTo: personal && (personal.fulfilment ? 'fulfilment' : 'address'),
    activate,
    renew,
    reprint,
    migrate,
    cancelRenewal,
    convert,
    replace,
  }
}

/** Asks the rules of an act: a refusal is an answer. */
async function foresee<Effects extends object>(
  ask: () => Effects | Promise<Effects>,
): Promise<Foreseen<Effects>> {
  try {
    return { possible: true, ...(await ask()) }
  } catch (error) {
    if (!(error instanceof Problem) || error.status >= 500) throw error
    const { code, detail } = error
    return { possible: false, code, ...(detail !== undefined && { detail }) }
  }
}

/** @throws `Problem` as the activation of a card or of the plastic of a converted one. */
function foreseeActivation(card: CardToRenew, status: CardStatusCode, today: string): object {
  if (status === '00' && card.isPlasticInactive) {
    rules.refuseActivation(card, today)
    return {}
  }
  refuseMove(status, '00', '02', card.isRetired)
  if (card.generation > 0) rules.refuseReturned(card)
  return {}
}

async function foreseePlastic(
  context: CardContext,
  card: CardToRenew,
  step: 'Renew' | 'RenewWithSameExpiry',
  today: string,
): Promise<ForeseenPlastic> {
  const { expiryDate, isCurrent, plasticNumber } = await planRenewal(context, card, { step }, today)
  return { plasticNumber, expiryDate, current: isCurrent }
}

const foreseeReplacement = async (
  context: CardContext,
  owner: Pick<Requester, 'clientId'>,
  publicToken: PublicToken,
) => ({
  successors: await foreseeSuccessors(context, owner, publicToken, operatorReplacementReasons),
})

/**
 * Recommends a replacement for a card that its holder has no longer, and a renewal for one that
 * expires within the days of the first notice, unless the service renews it automatically. The
 * service does not order a returned plastic again: the address may be wrong.
 */
function recommendAct(
  { expiryDate, renewalType, waitingDelivery }: CardToRenew,
  status: CardStatusCode,
  {
    mayRenew,
    mayReplace,
    today,
  }: { readonly mayRenew: boolean; readonly mayReplace: boolean; readonly today: string },
): PossibleActs['recommended'] {
  if (mayReplace && (status === '41' || status === '43' || status === '83')) return 'replace'
  const isDue = expiryDate <= addDays(today, renewalNoticeDays[0])
  const isLeftToService =
    renewalType === 'Automatic' && status !== '54' && waitingDelivery !== 'Returned'
  return mayRenew && isDue && !isLeftToService ? 'renew' : null
}
