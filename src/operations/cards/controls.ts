import { formatDate } from '../../domain/calendar.ts'
import type { Requester } from '../../domain/client.ts'
import * as rules from '../../domain/controls.ts'
import * as deciding from '../../domain/decide-controls.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import { Problem } from '../../domain/problem.ts'
import * as stored from '../../storage/cards/controls.ts'
import { type Answer, commitOnce, type RepeatableRequest } from '../idempotency/idempotency.ts'
import * as cards from './cards.ts'

/** Controls with their version. */
interface CardControls extends rules.Controls {
  readonly version: number
}

/**
 * Returns the spending controls of the requester's card.
 * @throws `Problem` `card_not_found`.
 */
export async function findCardControls(
  { database }: Pick<cards.CardContext, 'database'>,
  { clientId }: Requester,
  publicToken: PublicToken,
): Promise<CardControls> {
  const card = await stored.findCardControls(database, publicToken, clientId)
  if (!card) throw new Problem('card_not_found')
  return { version: card.version, ...card.controls }
}

/** New controls of a card, and the version that they replace. */
interface ReplacedControls {
  readonly publicToken: PublicToken
  readonly version: number
  readonly controls: rules.ControlsMembers
}

/**
 * Replaces the spending controls of the requester's card whole.
 * @returns the version of the new ones.
 * @throws `Problem` `card_not_found`, `card_closed`, `controls_version_conflict`.
 */
export const replaceCardControls = (
  context: cards.CardContext,
  requester: cards.CardActor,
  { controls, publicToken, version }: ReplacedControls,
  request: RepeatableRequest | null,
): Promise<Answer<{ readonly version: number }>> =>
  commitOnce(context, request, async (claimFor) => {
    const { database, now } = context
    const { clientId } = requester
    const card = await stored.findCardControls(database, publicToken, clientId)
    if (!card) throw new Problem('card_not_found')
    cards.refuseClosed(context, card)
    if (card.version !== version) throw versionConflict(card.version)
    const result = { version: version + 1 }
    const claim = await claimFor(result)
    const event = await cards.changeEvent(context, requester, {
      publicToken,
      type: 'card.controls_changed',
      details: result,
    })
    const isDone = await stored.updateCardControls(
      database,
      { clientId, event, claim },
      { controls: rules.completeControls(controls), version, today: formatDate(now()) },
    )
    return { isDone, result }
  })

/** The failure of a change whose controls were replaced meanwhile. */
const versionConflict = (version: number): Problem =>
  new Problem('controls_version_conflict', { detail: `The present version is ${version}.` })

/** The verdict of the controls of a card on a transaction. */
interface Explanation {
  readonly approved: boolean
  /** The part of the amount that limits leave, if a part may be approved. */
  readonly approvedAmount?: number
  readonly productControlsVersion: number
  readonly cardControlsVersion: number
  /** In the order in which they are checked: the first one is the answer to the network. */
  readonly objections: readonly deciding.ControlObjection[]
  readonly shadowObjections: readonly deciding.ControlObjection[]
}

/**
 * Decides a transaction by the controls of the requester's card. Nothing is spent, and neither the
 * status of the card nor a PIN is checked.
 * @param isPartialAllowed whether a part of the amount may be approved.
 * @throws `Problem` `card_not_found`.
 */
export async function explainControls(
  { database, now }: Pick<cards.CardContext, 'database' | 'now'>,
  { clientId }: Requester,
  publicToken: PublicToken,
  transaction: rules.ControlledTransaction,
  isPartialAllowed = false,
): Promise<Explanation> {
  const card = await stored.findControlsInForce(database, publicToken, clientId)
  if (!card) throw new Problem('card_not_found')
  const { inForce, spending, versions } = card
  const decided = [inForce, transaction, now(), spending] as const
  const objections = deciding.decideControls(...decided)
  const part = isPartialAllowed ? deciding.findPartialApproval(...decided) : null
  return {
    approved: objections.length === 0 || part !== null,
    ...(part && { approvedAmount: part.amount }),
    productControlsVersion: versions.product,
    cardControlsVersion: versions.card,
    objections,
    shadowObjections: deciding.decideShadow(inForce, transaction, now(), spending),
  }
}
