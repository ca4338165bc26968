import { type ControlledTransaction, isControlled } from './controls.ts'
import * as deciding from './decide-controls.ts'
import { decidePrepared, type PreparedControls } from './prepared-controls.ts'
import { isApprovalCode } from './response-code.ts'

/** A recorded authorization that is decided again. */
export interface RecordedDecision {
  readonly publicToken: string
  readonly authorizationId: string
  readonly at: Date
  readonly transaction: ControlledTransaction
  readonly responseCode: string
  /** The approved part of the amount; null unless it was approved in part. */
  readonly approvedAmount: number | null
  /** The control that declined it; null if none did. */
  readonly control: string | null
}

/** A card under draft controls, and what it has spent under them. */
export interface TestedCard {
  readonly controls: PreparedControls
  spending: deciding.CardSpending
}

/** A number of authorizations, and what they charge in the product's currency. */
interface Sum {
  count: number
  amount: number
}

/** Approvals and declines, as recorded or by the draft. */
interface Verdicts {
  readonly approved: Readonly<Sum>
  readonly declined: Readonly<Sum>
}

/** The authorizations that a control of the draft declines. */
interface ControlEffect extends Pick<deciding.ControlObjection, 'owner' | 'control'> {
  readonly declined: Readonly<Sum>
  /** Those that were approved as recorded. */
  readonly newlyDeclined: Readonly<Sum>
}

/** An authorization that the draft decides otherwise. */
interface ChangedDecision extends RecordedDecision {
  /** Of the draft; null: it approves. */
  readonly objection: deciding.ControlObjection | null
}

/** The changes that a draft of controls makes. */
interface BackTestResult {
  readonly recorded: Verdicts
  readonly draft: Verdicts
  readonly newlyDeclined: Readonly<Sum>
  readonly newlyApproved: Readonly<Sum>
  readonly controls: readonly ControlEffect[]
  /** The first ones, oldest first. */
  readonly changes: readonly ChangedDecision[]
}

/** The result of a period. */
export interface BackTestAnswer extends BackTestResult {
  readonly from: Date
  readonly to: Date
  /** Of the product: the amounts are in its smallest unit. */
  readonly currency: string
}

/** An authorization as it was answered. */
interface RecordedAnswer {
  readonly wasApproved: boolean
  /** The approved or declined amount. */
  readonly amount: number
}

/** The most changed authorizations of a result. */
export const changesMost = 100

const noSum = (): Sum => ({ count: 0, amount: 0 })

const addTo = (sum: Sum, amount: number): void => {
  sum.count += 1
  sum.amount += amount
}

/** Decides recorded authorizations again, one after the other, and sums up what changes. */
export interface BackTest {
  /** Takes the next authorization of a card, in the order of their arrival. */
  decide(card: TestedCard, recorded: RecordedDecision): void
  summarize(): BackTestResult
}

/**
 * Begins a back-test.
 *
 * What a control declined is decided again, as if its PIN and CVV2 had been right. What was
 * declined for another reason stays declined, and takes nothing. Money that a card receives is not
 * controlled, and not counted.
 */
export function beginBackTest(): BackTest {
  const recordedSums = { approved: noSum(), declined: noSum() }
  const draftSums = { approved: noSum(), declined: noSum() }
  const newlyDeclined = noSum()
  const newlyApproved = noSum()
  const effects = new Map<string, ControlEffect & Record<'declined' | 'newlyDeclined', Sum>>()
  let changes: ChangedDecision[] = []

  function findEffect({ control, owner }: deciding.ControlObjection) {
    const name = `${owner} ${control}`
    const effect = effects.get(name) ?? {
      owner,
      control,
      declined: noSum(),
      newlyDeclined: noSum(),
    }
    effects.set(name, effect)
    return effect
  }

  /** The cards of several clients come one client after the other, so a later one may be older. */
  function noteChange(change: ChangedDecision): void {
    const last = changes[changesMost - 1]
    if (last && last.authorizationId < change.authorizationId) return
    changes.push(change)
    changes = changes.toSorted(byAge).slice(0, changesMost)
  }

  /** Decides an authorization that a control may decline. */
  function decideAgain(card: TestedCard, recorded: RecordedDecision, before: RecordedAnswer): void {
    const { approvedAmount, at, transaction } = recorded
    // A record shows only for partial approvals that the terminal accepts a part.
    const isPartialAllowed = approvedAmount !== null
    const { spending } = card
    const asked = { transaction, at, isPartialAllowed, spending }
    const { objection, spending: spent, taking } = decidePrepared(card.controls, asked)
    card.spending = spent
    addTo(objection ? draftSums.declined : draftSums.approved, taking.amount)
    if (objection) addTo(findEffect(objection).declined, taking.amount)
    if (before.wasApproved === (objection === null)) return
    if (objection) addTo(findEffect(objection).newlyDeclined, before.amount)
    addTo(objection ? newlyDeclined : newlyApproved, before.amount)
    noteChange({ ...recorded, objection })
  }

  return {
    decide(card, recorded) {
      const { approvedAmount, control, responseCode, transaction } = recorded
      if (!isControlled(transaction)) return
      const wasApproved = isApprovalCode(responseCode)
      const whole = deciding.takeAmount(transaction, card.controls.currency).amount
      const amount = approvedAmount ?? whole
      addTo(wasApproved ? recordedSums.approved : recordedSums.declined, amount)
      if (wasApproved || control !== null) decideAgain(card, recorded, { wasApproved, amount })
      else addTo(draftSums.declined, whole)
    },
    summarize: () => ({
      recorded: recordedSums,
      draft: draftSums,
      newlyDeclined,
      newlyApproved,
      controls: [...effects.values()].toSorted(
        (one, other) => other.declined.count - one.declined.count,
      ),
      changes,
    }),
  }
}

/** Ids of authorizations begin with the time of their arrival. */
const byAge = (one: ChangedDecision, other: ChangedDecision): number =>
  one.authorizationId < other.authorizationId ? -1 : 1
