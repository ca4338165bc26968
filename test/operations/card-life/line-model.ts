import {
  type Expiry,
  expiryMonthsAfter,
  formatDate,
  parseExpiry,
} from '../../../src/domain/calendar.ts'
import { type LifeStatus, lifeActs, listLifeMoves } from '../../../src/domain/card-life.ts'
import type { CardStatusCode } from '../../../src/domain/card-status.ts'
import {
  carriesPin,
  type ReplacementReason,
  reasonEffects,
} from '../../../src/domain/replacement.ts'
import { statusObjections } from '../../../src/domain/response-code.ts'

/** A plain program for a line of cards: its plastics, its PINs and their tries. */

const validityMonths = 48
const earliestDays = 90
const graceMonths = 3
const tryLimit = 3

export interface ModelCard {
  readonly cardType: 'Virtual' | 'Physical'
  /** Without expiry, which `isExpired` has. */
  readonly status: CardStatusCode
  readonly isRetired: boolean
  /** Whether the expiry took effect: only a plastic that becomes current ends it. */
  readonly isMarkedExpired: boolean
  /** `YYYY-MM` of the plastic in use, and of the one that waits. */
  readonly expiry: string
  readonly waiting: string | null
  readonly currentNumber: number
  readonly newestNumber: number
  /** Whether the card was converted, and its plastic has not been activated yet. */
  readonly isPlasticInactive: boolean
  /** Names a PIN. Two cards with the same name have the same PIN. */
  readonly pin: number
  readonly spentTries: number
  /** Before its activation: the card whose PIN it has. */
  readonly pinSource: number | null
  readonly wasActivated: boolean
}

export interface ModelLine {
  readonly today: string
  /** By generation. */
  readonly cards: readonly ModelCard[]
}

/** An act on a card. Each act reads the members that it needs. */
export interface ModelStep {
  readonly do:
    | 'renew'
    | 'renewSame'
    | 'migrate'
    | 'cancel'
    | 'convert'
    | 'replace'
    | 'complete'
    | 'setStatus'
    | 'setPin'
    | 'pay'
  readonly card: number
  readonly activateNow: boolean
  readonly reason: ReplacementReason
  readonly to: CardStatusCode
  /** Names the PIN that is set, or drawn if a replacement or an activation carries none. */
  readonly pin: number
  /** Whether a payment has the right PIN. */
  readonly isRight: boolean
}

/** The line after a step, and its answer: a status of HTTP, an error code or a response code. */
export interface Outcome {
  readonly line: ModelLine
  readonly answer: string
}

export const openLine = (today: string, cardType: ModelCard['cardType']): ModelLine => ({
  today,
  cards: [
    {
      cardType,
      status: '00',
      isRetired: false,
      isMarkedExpired: false,
      expiry: expiryMonthsAfter(today, 2).yearMonth(),
      waiting: null,
      currentNumber: 0,
      newestNumber: 0,
      isPlasticInactive: false,
      pin: 0,
      spentTries: 0,
      pinSource: null,
      wasActivated: true,
    },
  ],
})

const isOpen = ({ status }: ModelCard): boolean => ['00', '02', '62'].includes(status)

const lastDay = (yearMonth: string): string => readExpiry(yearMonth).lastDay()

function readExpiry(yearMonth: string): Expiry {
  const expiry = parseExpiry(yearMonth)
  if (!expiry) throw new Error(`${yearMonth} is no expiry.`)
  return expiry
}

const validUntil = ({ expiry, waiting }: ModelCard): string =>
  lastDay(waiting !== null && waiting > expiry ? waiting : expiry)

const isExpired = (card: ModelCard, today: string): boolean =>
  isOpen(card) && (card.isMarkedExpired || validUntil(card) < today)

/** The status that the card shows. */
export const tellStatus = (card: ModelCard, today: string): CardStatusCode =>
  isExpired(card, today) ? '54' : card.status

const isChangeable = (card: ModelCard, today: string): boolean =>
  isOpen(card) && !card.isRetired && !isExpired(card, today)

const tellLifeStatus = (card: ModelCard, today: string): LifeStatus => {
  const status = tellStatus(card, today)
  return card.isRetired && (status === '62' || status === '54') ? 'retired' : status
}

const isWithinGrace = (card: ModelCard, today: string): boolean =>
  validUntil(card) >= expiryMonthsAfter(today, -graceMonths).lastDay()

/** Whether the card has a successor that was activated, or can still be. */
const hasSuccessor = ({ cards, today }: ModelLine, generation: number): boolean =>
  cards.slice(generation + 1).some((card) => card.wasActivated || isChangeable(card, today))

function findCard({ cards }: ModelLine, generation: number): ModelCard {
  const card = cards[generation]
  if (!card) throw new Error('The line has no such card.')
  return card
}

const change = (line: ModelLine, generation: number, members: Partial<ModelCard>): ModelLine => ({
  ...line,
  cards: line.cards.map((card, at) => (at === generation ? { ...card, ...members } : card)),
})

/** Applies a step. */
export function apply(line: ModelLine, step: ModelStep): Outcome {
  if (step.do === 'renew' || step.do === 'renewSame') return renew(line, step)
  if (step.do === 'migrate') return migrate(line, step.card)
  if (step.do === 'cancel') return cancel(line, step.card)
  if (step.do === 'convert') return convert(line, step.card)
  if (step.do === 'replace') return replace(line, step)
  if (step.do === 'complete') return complete(line, step.card)
  if (step.do === 'setStatus') return setStatus(line, step)
  if (step.do === 'setPin') return setPin(line, step)
  return pay(line, step)
}

function renew(line: ModelLine, step: ModelStep): Outcome {
  const { today } = line
  const card = findCard(line, step.card)
  if (hasSuccessor(line, step.card)) return { line, answer: 'card_already_replaced' }
  const { renew: allowed } = lifeActs[tellLifeStatus(card, today)]
  if (allowed === 'no') return { line, answer: 'card_closed' }
  if (card.waiting !== null && lastDay(card.waiting) >= today) {
    return { line, answer: 'renewal_in_progress' }
  }
  if (allowed === 'within_grace' && !isWithinGrace(card, today)) {
    return { line, answer: 'card_closed' }
  }
  const isPast = lastDay(card.expiry) < today
  if (step.do === 'renewSame' && isPast) return { line, answer: 'card_closed' }
  if (step.do === 'renew' && addDays(today, earliestDays) < lastDay(card.expiry)) {
    return { line, answer: 'renewal_not_due' }
  }
  const following = expiryMonthsAfter(isPast ? today : lastDay(card.expiry), validityMonths)
  const expiry = step.do === 'renewSame' ? card.expiry : following.yearMonth()
  const newestNumber = card.newestNumber + 1
  const isMarkedExpired = isExpired(card, today)
  const ordered = { newestNumber, isMarkedExpired, waiting: expiry }
  const isCurrent = step.activateNow || card.cardType === 'Virtual'
  const changed = { ...card, ...ordered }
  return {
    line: change(line, step.card, isCurrent ? makeCurrent(changed) : changed),
    answer: '204',
  }
}

const makeCurrent = (card: ModelCard): ModelCard => ({
  ...card,
  expiry: card.waiting ?? card.expiry,
  waiting: null,
  currentNumber: card.newestNumber,
  isMarkedExpired: false,
  isPlasticInactive: false,
})

/** Returns the code with which acts on the plastics of a closed card are refused. */
const tellEnd = (line: ModelLine, generation: number): string =>
  hasSuccessor(line, generation) ? 'card_already_replaced' : 'card_closed'

function migrate(line: ModelLine, generation: number): Outcome {
  const card = findCard(line, generation)
  if (lifeActs[tellLifeStatus(card, line.today)].renew === 'no') {
    return { line, answer: tellEnd(line, generation) }
  }
  if (card.waiting === null && card.isPlasticInactive && tellStatus(card, line.today) === '00') {
    return { line: change(line, generation, { isPlasticInactive: false }), answer: '204' }
  }
  if (card.waiting === null) return { line, answer: 'nothing_to_migrate' }
  if (validUntil(card) < line.today) return { line, answer: 'card_closed' }
  return { line: change(line, generation, makeCurrent(card)), answer: '204' }
}

function cancel(line: ModelLine, generation: number): Outcome {
  const card = findCard(line, generation)
  if (lifeActs[tellLifeStatus(card, line.today)].renew === 'no') {
    return { line, answer: tellEnd(line, generation) }
  }
  if (card.waiting === null) return { line, answer: 'nothing_to_migrate' }
  return { line: change(line, generation, endWaiting(card)), answer: '204' }
}

function convert(line: ModelLine, generation: number): Outcome {
  const card = findCard(line, generation)
  const status = tellLifeStatus(card, line.today)
  if (hasSuccessor(line, generation)) return { line, answer: 'card_already_replaced' }
  if (!['00', '02', '62'].includes(status)) return { line, answer: 'card_closed' }
  if (card.cardType === 'Physical') return { line, answer: 'conversion_not_supported' }
  if (lifeActs[status].convert === 'no') return { line, answer: 'card_status_conflict' }
  const newestNumber = card.newestNumber + 1
  const converted = { ...makeCurrent({ ...card, newestNumber }), isPlasticInactive: true }
  return { line: change(line, generation, { ...converted, cardType: 'Physical' }), answer: '200' }
}

/** Cancels the plastic that waits: no batch took it, so that its number is used again. */
const endWaiting = ({ newestNumber, waiting }: ModelCard): Partial<ModelCard> =>
  waiting === null ? {} : { waiting: null, newestNumber: newestNumber - 1 }

function replace(line: ModelLine, step: ModelStep): Outcome {
  const { today } = line
  const card = findCard(line, step.card)
  if (hasSuccessor(line, step.card)) return { line, answer: 'card_already_replaced' }
  const status = tellStatus(card, today)
  const allowed = lifeActs[tellLifeStatus(card, today)].replace
  if (allowed === 'no' || (allowed !== 'yes' && !isWithinGrace(card, today))) {
    return { line, answer: 'card_closed' }
  }
  const isLiving = status !== '54' && isOpen(card)
  const { movesTo, retires } = reasonEffects[step.reason]
  const ended = isLiving && movesTo ? { status: movesTo, ...endWaiting(card) } : {}
  const successor = createSuccessor(line, step)
  // An expired card cannot become lost or stolen.
  const isRetired = retires || (status === '54' && movesTo !== null)
  const changed = retirePassedOver(
    change(line, step.card, isRetired ? retire(card) : ended),
    step.card,
  )
  const longer = { ...changed, cards: [...changed.cards, successor] }
  const after = successor.wasActivated ? finishActivation(longer, longer.cards.length - 1) : longer
  return { line: after, answer: '200' }
}

/** Retires the successors of a card that expired unused, when it is replaced again. */
const retirePassedOver = (line: ModelLine, generation: number): ModelLine => ({
  ...line,
  cards: line.cards.map((card, at) => (at > generation ? { ...card, ...retire(card) } : card)),
})

function createSuccessor(line: ModelLine, step: ModelStep): ModelCard {
  const { cardType, isRetired, pinSource: carriedFrom, status } = findCard(line, step.card)
  const source = carriedFrom ?? step.card
  const carries =
    !isRetired &&
    [status, findCard(line, source).status].every((each) => carriesPin(step.reason, each))
  const pinSource = carries ? source : null
  const isActive = step.activateNow || cardType === 'Virtual'
  return {
    cardType,
    status: isActive ? '00' : '02',
    isRetired: false,
    isMarkedExpired: false,
    expiry: expiryMonthsAfter(line.today, validityMonths).yearMonth(),
    waiting: null,
    currentNumber: 0,
    newestNumber: 0,
    isPlasticInactive: false,
    pin: pinSource === null ? step.pin : findCard(line, pinSource).pin,
    spentTries: 0,
    pinSource,
    wasActivated: isActive,
  }
}

const retire = (card: ModelCard): Partial<ModelCard> =>
  isOpen(card) && !card.isRetired ? { status: '62', isRetired: true, ...endWaiting(card) } : {}

/** Retires the cards before a successor, which is active, and carries the tries of its PIN. */
function finishActivation(line: ModelLine, generation: number): ModelLine {
  const { pinSource } = findCard(line, generation)
  const retired = line.cards
    .slice(0, generation)
    .reduce((after, card, at) => change(after, at, retire(card)), line)
  // A later successor that has the PIN of a card before this one has the PIN of this one now.
  const cards = retired.cards.map((card, at) =>
    at > generation && card.pinSource !== null && card.pinSource < generation
      ? { ...card, pinSource: generation }
      : card,
  )
  const after = change({ ...retired, cards }, generation, { wasActivated: true, pinSource: null })
  if (pinSource === null) return after
  const before = findCard(line, pinSource)
  const isLost = before.status === '41' || before.status === '43'
  const isRetiredNow = !before.isRetired && isOpen(before)
  const emptied = isRetiredNow ? change(after, pinSource, { spentTries: tryLimit }) : after
  return isLost ? emptied : change(emptied, generation, { spentTries: before.spentTries })
}

function complete(line: ModelLine, generation: number): Outcome {
  const card = findCard(line, generation)
  if (!hasSuccessor(line, generation)) return { line, answer: 'not_replaced' }
  return { line: change(line, generation, retire(card)), answer: '204' }
}

function setStatus(line: ModelLine, step: ModelStep): Outcome {
  const card = findCard(line, step.card)
  const from = tellStatus(card, line.today)
  if (from === step.to) {
    const isPast = lastDay(card.expiry) < line.today
    if (step.to === '00' && card.isPlasticInactive && isPast) {
      return { line, answer: 'nothing_to_migrate' }
    }
    const activated = step.to === '00' ? { isPlasticInactive: false } : {}
    return { line: change(line, step.card, activated), answer: '204' }
  }
  const lifeStatus = card.isRetired && from === '62' ? 'retired' : from
  if (!listLifeMoves(lifeStatus).includes(step.to)) return { line, answer: 'card_status_conflict' }
  const closed = { ...card, status: step.to }
  // No plastic of a closed card is made.
  const moved = change(
    line,
    step.card,
    isOpen(closed) ? closed : { ...closed, ...endWaiting(card) },
  )
  if (step.to !== '00' || from !== '02' || step.card === 0) return { line: moved, answer: '204' }
  const { pinSource } = card
  const source = pinSource === null ? null : findCard(line, pinSource)
  const carried =
    source?.status === '43'
      ? change(moved, step.card, { pin: step.pin, pinSource: null })
      : change(moved, step.card, { pin: source?.pin ?? card.pin })
  return { line: finishActivation(carried, step.card), answer: '204' }
}

function setPin(line: ModelLine, step: ModelStep): Outcome {
  if (!isChangeable(findCard(line, step.card), line.today)) return { line, answer: 'card_closed' }
  return { line: change(line, step.card, { pin: step.pin, pinSource: null }), answer: '204' }
}

function pay(line: ModelLine, step: ModelStep): Outcome {
  const card = findCard(line, step.card)
  const objection = statusObjections[tellStatus(card, line.today)]
  if (objection) return { line, answer: objection }
  // The plastic in use has expired, although the card has a later one that waits.
  if (lastDay(card.expiry) < line.today) return { line, answer: '54' }
  // The payment comes from the chip.
  if (card.isPlasticInactive) return { line, answer: '78' }
  if (card.spentTries >= tryLimit) return { line, answer: '75' }
  const spentTries = step.isRight ? 0 : card.spentTries + 1
  return {
    line: change(line, step.card, { spentTries }),
    answer: step.isRight ? '00' : '55',
  }
}

/** Moves the clock. */
export const wait = (line: ModelLine, days: number): ModelLine => ({
  ...line,
  today: addDays(line.today, days),
})

/** Marks the cards that have expired, as the sweep does. */
export const sweepLine = (line: ModelLine): ModelLine => ({
  ...line,
  cards: line.cards.map((card) => ({ ...card, isMarkedExpired: isExpired(card, line.today) })),
})

const addDays = (date: string, days: number): string =>
  formatDate(new Date(Date.parse(`${date}T00:00:00Z`) + days * 86_400_000))
