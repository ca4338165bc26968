import type { Static } from 'typebox'
import type { Content } from '../../listeners/http/html.ts'
import type { PossibleActsSchema } from '../../listeners/private/schemas/card-life-acts.ts'
import type { SupportedCardSchema } from '../../listeners/private/schemas/cards.ts'
import type { UsedLimitSchema } from '../../listeners/private/schemas/limits.ts'
import type { ApiAnswer, Form, Notice, Visit } from '../screen.ts'
import type { FoundChip } from './card-chip.ts'
import type { CardOfLine } from './card-life.ts'

export type Card = Static<typeof SupportedCardSchema>
type UsedLimit = Static<typeof UsedLimitSchema>

/** The acts on a card, in the order of their buttons. Each is the path of its form. */
export const actNames = [
  'activate',
  'migrate',
  'freeze',
  'unfreeze',
  'pin/unblock',
  'cvv/unblock',
  'renew',
  'reprint',
  'convert',
  'cancel-renewal',
  'delivery-address',
  'replace',
] as const
export type ActName = (typeof actNames)[number]

/** The facts that the acts on a card depend on. */
export interface CardFacts {
  readonly card: Card
  readonly chip: FoundChip
  /** The limits on the card, with what is used. */
  readonly limits: readonly UsedLimit[]
  /** The acts of card life that are possible now, with their effects. */
  readonly possible: Static<typeof PossibleActsSchema>
  /** The cards that replaced each other, newest first. */
  readonly line: readonly CardOfLine[]
}

/** What was typed into a form that is shown again, and its faults. */
export type TypedForm = Pick<Visit, 'kept' | 'refused'>

/** The path of an act below the card on the private listener, and its members beside the reason. */
interface ActCall {
  readonly path: string
  readonly members: object
}

/** An act of an operator on a card, with a reason. */
export interface CardAct {
  readonly name: string
  readonly done: string
  /** The act that takes it back, if there is one. */
  readonly undo?: ActName
  isFor(facts: CardFacts): boolean
  /** Describes what the act will do. */
  hint(facts: CardFacts): Content
  /** The fields beside the reason. `action` is the path that the form is sent to. */
  fields?(facts: CardFacts, visit: TypedForm, action: string): Content
  /** The call of a form; by default the act's own path with the reason alone. */
  call?(form: Form): ActCall
  /** Describes what the act has done by its answer, in place of `done`. */
  describe?(answer: ApiAnswer): Pick<Notice, 'lines' | 'link'>
}
