import { dateOf } from '../../domain/calendar.ts'
import { Problem } from '../../domain/problem.ts'
import { glanceAtCard } from '../../storage/cards/cards.ts'
import { type DisclosedCard, recordDisclosure } from '../../storage/cards/disclosures.ts'
import {
  type CardAndClientLimit,
  findUsedUpLimit,
  type Limit,
  type LimitKind,
  type LimitOf,
  spendLimit,
} from '../../storage/cards/limits.ts'
import type { Connection } from '../../storage/engine/database.ts'
import type { EventType } from '../../storage/events/events.ts'
import { type CardOperations, type Requester, refuseClosed } from './cards.ts'
import { changeEvent } from './change-status.ts'
import { revealablePin } from './pin.ts'

/** Spends one use, or refuses. @throws `Problem` `rate_limited` with the wait until the next use. */
export async function spendUse(
  connection: Connection,
  kind: LimitKind,
  subject: string,
  limit: Limit | null,
): Promise<void> {
  if (!limit || (await spendLimit(connection, kind, subject, limit))) return
  await refuseUsedUp(connection, [{ kind, subject, limit }])
  // It came free in between: the next one to ask has it.
  throw refusal({ kind, limit, seconds: 1 })
}

/** Refuses where no use is left, and spends none. @throws `Problem` `rate_limited`, as above. */
async function refuseUsedUp(connection: Connection, limits: readonly LimitOf[]): Promise<void> {
  const usedUp = limits.length > 0 ? await findUsedUpLimit(connection, limits) : null
  if (usedUp) throw refusal(usedUp)
}

const refusal = ({ kind, limit, seconds }: Omit<LimitOf, 'subject'> & { seconds: number }) =>
  new Problem('rate_limited', {
    detail: `${limit.uses} ${limit.purpose} in ${limit.windowSeconds} seconds are allowed per ${kind}.`,
    retryAfterSeconds: seconds,
  })

/** What is to be told of a card, and what its event says of that. */
interface Disclosure {
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
  issuing: CardOperations,
  caller: Requester,
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
  issuing: CardOperations,
  { clientId }: Requester,
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
