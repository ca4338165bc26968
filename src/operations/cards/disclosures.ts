import { formatDate } from '../../domain/calendar.ts'
import type { Requester } from '../../domain/client.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import { Problem } from '../../domain/problem.ts'
import type { StoredPin } from '../../hsm/contract/card.ts'
import { type CardWithProduct, findCardWithProduct } from '../../storage/cards/cards.ts'
import { type DisclosedCard, recordDisclosure } from '../../storage/cards/disclosures.ts'
import type { CardAndClientLimit, LimitOf } from '../../storage/cards/limits.ts'
import { type EventType, newEventId } from '../../storage/events/events.ts'
import { type CardContext, changeEvent, refuseClosed } from './cards.ts'
import { refuseUsedUp } from './limits.ts'

/** The data to disclose, and its description in the event. */
interface Disclosure {
  readonly publicToken: PublicToken
  readonly includesPin: boolean
  readonly type: Extract<EventType, 'pin.revealed' | 'card_data.revealed'>
  readonly details: Readonly<Record<string, string | boolean>>
}

/** The disclosed data, and its audit log entry. */
interface Disclosed {
  readonly card: DisclosedCard
  /** The id of the event. */
  readonly entryId: string
}

/** The maximum number of reads if concurrent changes come between read and record. */
const attemptsMax = 3

/**
 * Records a disclosure of a card, and spends a use of its limit and of its client's, all or
 * nothing. The disclosed data is the card's at that moment.
 * @throws `Problem` as `refuseDisclosure`.
 */
export async function disclose(
  context: CardContext,
  requester: Requester,
  disclosure: Disclosure,
): Promise<Disclosed> {
  const { includesPin } = disclosure
  const eventId = newEventId()
  const limits = context.limits.reveals
  const event = await changeEvent(context, requester, disclosure)
  for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
    const today = formatDate(context.now())
    const terms = { clientId: requester.clientId, today, includesPin, eventId, limits }
    const card = await recordDisclosure(context.database, event, terms)
    if (card) return { card, entryId: eventId }
    await refuseDisclosure(context, requester, disclosure, [limits])
  }
  throw new Problem('unavailable', { detail: 'Another request is changing this card.' })
}

/**
 * Rejects a disclosure that the card does not allow now, without locking or spending.
 * @returns the card.
 * @throws `Problem` `card_not_found`, `rate_limited`, `card_closed`, `pin_not_revealable`, in this
 *   order.
 */
export async function refuseDisclosure(
  context: CardContext,
  { clientId }: Requester,
  { includesPin, publicToken }: Pick<Disclosure, 'includesPin' | 'publicToken'>,
  limits: readonly (CardAndClientLimit | null)[],
): Promise<CardWithProduct> {
  const card = await findCardWithProduct(context.database, publicToken, clientId)
  if (!card) throw new Problem('card_not_found')
  const limitsOfBoth = limits
    .filter((pair) => pair !== null)
    .flatMap(({ perCard, perClient }): LimitOf[] => [
      { kind: 'card', subject: card.lineToken, limit: perCard },
      { kind: 'client', subject: clientId, limit: perClient },
    ])
  await refuseUsedUp(context.database, limitsOfBoth)
  refuseClosed(context, card)
  if (includesPin) revealablePin(card)
  return card
}

/**
 * Returns a card's stored PIN, if it can be revealed.
 * @throws `Problem` `pin_not_revealable`.
 */
export function revealablePin({
  pinBlock,
  pinKey,
}: Pick<DisclosedCard, 'pinBlock' | 'pinKey'>): StoredPin {
  if (!pinBlock) throw new Problem('pin_not_revealable')
  return { pinBlock, pvv: null, pinKey }
}
