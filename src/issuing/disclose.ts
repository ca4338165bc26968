import { dateOf } from '../domain/calendar.ts'
import { Problem } from '../errors.ts'
import { glanceAtCard } from '../storage/cards.ts'
import { type DisclosedCard, recordDisclosure } from '../storage/disclosures.ts'
import type { EventType } from '../storage/events.ts'
import type { CardAndClientLimit, LimitOf } from '../storage/limits.ts'
import { changeEvent } from './change-event.ts'
import { refuseClosed } from './held-card.ts'
import type { Caller, Issuing } from './issuing.ts'
import { refuseUsedUp } from './limit.ts'
import { revealablePin } from './revealable-pin.ts'

/** What is to be told of a card, and what its event says of that. */
export interface Disclosure {
  readonly publicToken: string
  readonly includesPin: boolean
  readonly type: Extract<EventType, 'pin.revealed' | 'card_data.revealed'>
  readonly details: Readonly<Record<string, string | boolean>>
}

/** Between what is read and what is recorded another may be quicker: then it is read again, so often. */
const attemptsMost = 3

/**
 * Puts on record that a card is told, and spends a use of its limit and of its client's: together, or not at
 * all. What is told afterwards is the card as it was then.
 * @throws `Problem` as `refuseDisclosure` does.
 */
export async function disclose(
  issuing: Issuing,
  caller: Caller,
  disclosure: Disclosure,
): Promise<DisclosedCard> {
  const { details, includesPin, publicToken, type } = disclosure
  for (let attempt = 1; attempt <= attemptsMost; attempt += 1) {
    const limits = issuing.limits.reveals
    await refuseDisclosure(issuing, caller, disclosure, [limits])
    const event = await changeEvent(issuing, caller, publicToken, type, { details })
    const terms = { clientId: caller.clientId, today: dateOf(issuing.now()), includesPin, limits }
    const card = await recordDisclosure(issuing.database, event, terms)
    if (card) return card
  }
  throw new Problem('unavailable', { detail: 'Others are changing the same card.' })
}

/**
 * Refuses what may not be told, as it looks now; holds and spends nothing.
 * @throws `Problem` `card_not_found`, `rate_limited`, `card_closed`, `pin_not_revealable`, in this order.
 */
export async function refuseDisclosure(
  issuing: Issuing,
  { clientId }: Caller,
  { includesPin, publicToken }: Pick<Disclosure, 'includesPin' | 'publicToken'>,
  limits: readonly (CardAndClientLimit | null)[],
): Promise<void> {
  const card = await glanceAtCard(issuing.database, publicToken, clientId)
  if (!card) throw new Problem('card_not_found')
  const asked = limits.flatMap((pair): LimitOf[] =>
    pair
      ? [
          { kind: 'card', subject: publicToken, limit: pair.perCard },
          { kind: 'client', subject: clientId, limit: pair.perClient },
        ]
      : [],
  )
  await refuseUsedUp(issuing.database, asked)
  refuseClosed(issuing, card)
  if (includesPin) revealablePin(card)
}
