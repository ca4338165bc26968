import type { PublicToken } from '../../domain/identifiers.ts'
import { Problem, type ProblemCode } from '../../domain/problem.ts'
import { Secret } from '../../domain/secret.ts'
import type { TryKind } from '../../domain/tries.ts'
import { insertAct } from '../../storage/acts/acts.ts'
import { spendLimit } from '../../storage/cards/limits.ts'
import { findOwner, findSealedNames } from '../../storage/cards/search.ts'
import type { Connection } from '../../storage/engine/database.ts'
import { rememberAnswer } from '../../storage/idempotency/idempotency.ts'
import {
  type Answer,
  commitOnce,
  once,
  type RepeatableRequest,
} from '../idempotency/idempotency.ts'
import type { CardActor, CardContext } from './cards.ts'
import { spendUse } from './limits.ts'
import { revealPersonalData } from './personal-data.ts'
import { changeCardStatus } from './status.ts'
import { unblock } from './tries.ts'

/** Who looks after cards of all clients: a person, or a system that has the scope. */
export interface Operator {
  readonly operatorId: string
  readonly requestId: string
}

/** What an operator does to a card, and why. */
interface ReasonedAct {
  readonly publicToken: PublicToken
  readonly reason: string
}

/**
 * An operator as one who acts on a card: of whichever client it is, and never as that client.
 * @throws `Problem` `card_not_found`.
 */
async function actorOn(
  { database }: Pick<CardContext, 'database'>,
  { operatorId, requestId }: Operator,
  publicToken: PublicToken,
): Promise<CardActor> {
  const clientId = await findOwner(database, publicToken)
  if (clientId === null) throw new Problem('card_not_found')
  return { clientId, requestId, operatorId }
}

const composeNote = ({ operatorId }: Operator, reason: string) => ({
  description: reason,
  updatedBy: operatorId,
})

/**
 * Restricts a card, so that nothing is approved until it is unfrozen.
 * @throws as `changeCardStatus`.
 */
export async function freezeCard(
  context: CardContext,
  operator: Operator,
  { publicToken, reason }: ReasonedAct,
  request: RepeatableRequest | null,
): Promise<Answer<null>> {
  const actor = await actorOn(context, operator, publicToken)
  const change = { publicToken, to: '62', note: composeNote(operator, reason) } as const
  return changeCardStatus(context, actor, change, request)
}

/**
 * Makes a card active that is restricted, and no other: one that never was active is not made so.
 */
export async function unfreezeCard(
  context: CardContext,
  operator: Operator,
  { publicToken, reason }: ReasonedAct,
  request: RepeatableRequest | null,
): Promise<Answer<null>> {
  const actor = await actorOn(context, operator, publicToken)
  const note = composeNote(operator, reason)
  const change = { publicToken, to: '00', onlyFrom: '62', note } as const
  return changeCardStatus(context, actor, change, request)
}

/** Unblocks a card's PIN or CVV, as its client may. @throws as `unblock`. */
export async function unblockAsOperator(
  context: CardContext,
  operator: Operator,
  { kind, publicToken, reason }: ReasonedAct & { readonly kind: TryKind },
  request: RepeatableRequest | null,
): Promise<Answer<null>> {
  const actor = await actorOn(context, operator, publicToken)
  return unblock(
    context,
    actor,
    { publicToken, kind, note: composeNote(operator, reason) },
    request,
  )
}

/** What became of one of many cards. */
interface UnblockedCard {
  readonly publicToken: string
  readonly unblocked: boolean
  /** Why not: the code of the problem, and what it said. */
  readonly code?: ProblemCode
  readonly detail?: string
}

/** So many are under way at once: they share their commits. */
const atOnce = 16

/**
 * Unblocks the PIN or CVV of many cards, each by its own act. Under an idempotency key each card is
 * unblocked once: a repeat resumes where the first request stopped, and retries refused cards.
 * @throws `Problem` `idempotency_key_reused` when the key was used for another list; `unavailable`
 *   during an outage of the database or the HSM: finished cards stay unblocked.
 */
export async function unblockMany(
  context: CardContext,
  operator: Operator,
  many: {
    readonly publicTokens: readonly PublicToken[]
    readonly kind: TryKind
    readonly reason: string
  },
  request: RepeatableRequest | null,
): Promise<Answer<readonly UnblockedCard[]>> {
  const { kind, publicTokens, reason } = many
  const begun = await commitOnce<null>(context, request, async (claimFor) => ({
    isDone: await rememberAnswer(context.database, await claimFor(null)),
    result: null,
  }))
  const unblockOne = async (publicToken: PublicToken): Promise<UnblockedCard> => {
    const act = { publicToken, kind, reason }
    try {
      await unblockAsOperator(
        context,
        operator,
        act,
        request && composePartRequest(request, publicToken),
      )
      return { publicToken, unblocked: true }
    } catch (error) {
      if (!(error instanceof Problem) || error.status >= 500) throw error
      const { code, detail } = error
      return { publicToken, unblocked: false, code, ...(detail !== undefined && { detail }) }
    }
  }
  const results: UnblockedCard[] = []
  for (let from = 0; from < publicTokens.length; from += atOnce) {
    const some = publicTokens.slice(from, from + atOnce)
    const done = await Promise.allSettled(some.map(unblockOne))
    const failed = done.find((each) => each.status === 'rejected')
    if (failed) throw failed.reason
    results.push(...done.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : [])))
  }
  return { result: results, replayed: begun.replayed }
}

/** Of one operator, within any hour. */
const unblocksWindowSeconds = 3_600
const usedUp = new Error('So many cards are not left.')

/**
 * Counts the cards that an operator unblocks together without an approval, over all calls of an
 * hour. A repeat under the same idempotency key counts once.
 * @returns whether so many were left; if not, none of them is counted.
 */
export async function spendUnblocks(
  context: CardContext,
  { operatorId }: Operator,
  { count, countMost }: { readonly count: number; readonly countMost: number },
  request: RepeatableRequest | null,
): Promise<boolean> {
  if (count > countMost) return false
  const limit = {
    limitName: 'unblock_cards',
    purpose: 'cards unblocked together',
    uses: countMost,
    windowSeconds: unblocksWindowSeconds,
  }
  try {
    await once(context, request && composePartRequest(request, 'count'), async (connection) => {
      for (let spent = 0; spent < count; spent += 1) {
        if (!(await spendLimit(connection, 'client', operatorId, limit))) throw usedUp
      }
      return null
    })
    return true
  } catch (error) {
    if (error === usedUp) return false
    throw error
  }
}

/**
 * The part of a request that is about one card, or counts them: a line end is in no key that a
 * caller gives.
 */
const composePartRequest = (
  { idempotencyKey, request, ...others }: RepeatableRequest,
  part: string,
): RepeatableRequest => ({
  ...others,
  idempotencyKey: `${idempotencyKey}\n${part}`,
  request: new Secret(`${request.reveal()}\n${part}`),
})

/** Who a card is for, and the entry of the audit log that says who was shown it. */
interface RevealedCardholder {
  readonly entryId: string
  readonly embossName: string
  readonly title: string | null
  readonly firstName: string
  readonly middleName: string | null
  readonly lastName: string
}

/**
 * A repeat of a disclosure within this time is the same disclosure: a form that was submitted
 * twice.
 */
const sameDisclosureMs = 60_000

/**
 * The names of a card's holder, and nothing more of what is known of them. It is on record, and
 * counted for the operator, before they are read. Under an idempotency key a repeat within a minute
 * is the same disclosure, and a later one is another.
 * @throws `Problem` `card_not_found`, `rate_limited`, and as `once` does.
 */
export async function revealCardholder(
  context: CardContext,
  { operatorId, requestId }: Operator,
  publicToken: PublicToken,
  request: RepeatableRequest | null,
): Promise<Answer<RevealedCardholder>> {
  const { database, hsm, limits } = context
  const sealed = await findSealedNames(database, publicToken)
  if (!sealed) throw new Problem('card_not_found')
  const limit = limits.reveals && { ...limits.reveals.perClient, limitName: 'reveal_cardholder' }
  const record = async (connection: Connection) => {
    await spendUse(connection, 'client', operatorId, limit)
    const entryId = await insertAct(connection, {
      act: 'cardholder.revealed',
      subjectKind: 'card',
      subject: publicToken,
      details: JSON.stringify({ cardClient: sealed.clientId }),
      clientId: operatorId,
      requestId,
    })
    return { entryId, atMs: context.now().getTime() }
  }
  const first = await once(context, request, record)
  const isSame = !first.replayed || context.now().getTime() - first.result.atMs <= sameDisclosureMs
  const { replayed, result } = isSame ? first : await once(context, null, record)
  const { cardHolder, embossName } = await revealPersonalData(hsm, publicToken, sealed.personalData)
  const { firstName, lastName, middleName = null, title = null } = cardHolder
  const { entryId } = result
  return { replayed, result: { entryId, embossName, title, firstName, middleName, lastName } }
}
