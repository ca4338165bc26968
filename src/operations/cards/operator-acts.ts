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
import type { CardActor, CardContext, ChangeNote } from './cards.ts'
import { spendUse } from './limits.ts'
import { revealPersonalData } from './personal-data.ts'
import { changeCardStatus } from './status.ts'
import { unblock } from './tries.ts'

/** An operator for the cards of all clients: a person, or a system with the scope. */
export interface Operator {
  readonly operatorId: string
  readonly requestId: string
}

/** An operator's act on a card, and the reason. */
export interface ReasonedAct {
  readonly publicToken: PublicToken
  readonly reason: string
}

/**
 * Makes an operator the actor on a card of any client, never as that client.
 * @throws `Problem` `card_not_found`.
 */
export async function actorOn(
  { database }: Pick<CardContext, 'database'>,
  { operatorId, requestId }: Operator,
  publicToken: PublicToken,
): Promise<CardActor> {
  const clientId = await findOwner(database, publicToken)
  if (clientId === null) throw new Problem('card_not_found')
  return { clientId, requestId, operatorId }
}

/** Composes the note of an act: the reason, and who gave it. */
export const composeNote = ({ operatorId }: Operator, reason: string): ChangeNote => ({
  description: reason,
  updatedBy: operatorId,
})

/**
 * Restricts a card, so that all authorizations are declined until it is unfrozen.
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

/** Activates a restricted card. A card that was never active is not activated. */
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

/**
 * Unblocks a card's PIN or CVV, as its client can.
 * @throws as `unblock`.
 */
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

/** The result for one of many cards. */
interface UnblockedCard {
  readonly publicToken: string
  readonly unblocked: boolean
  /** The code and the detail of the problem, if it failed. */
  readonly code?: ProblemCode
  readonly detail?: string
}

/** The number of concurrent unblocks, which share their commits. */
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

/** The period of an operator's limit. */
const unblocksWindowSeconds = 3_600
const usedUp = new Error('So many cards are not left.')

/**
 * Counts the cards that an operator unblocks in bulk without an approval, over all calls of an
 * hour. A repeat under the same idempotency key counts once.
 * @returns whether the limit allows all of them; otherwise none is counted.
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
 * Composes the part of a request for one card, or for the count. The key contains a line end, which
 * no caller's key has.
 */
const composePartRequest = (
  { idempotencyKey, request, ...others }: RepeatableRequest,
  part: string,
): RepeatableRequest => ({
  ...others,
  idempotencyKey: `${idempotencyKey}\n${part}`,
  request: new Secret(`${request.reveal()}\n${part}`),
})

/** The cardholder's names, and the audit log entry of the disclosure. */
interface RevealedCardholder {
  readonly entryId: string
  readonly embossName: string
  readonly title: string | null
  readonly firstName: string
  readonly middleName: string | null
  readonly lastName: string
}

/**
 * A repeat of a disclosure within this time counts as the same one: a form that was submitted
 * twice.
 */
const sameDisclosureMs = 60_000

/**
 * Reveals the names of a card's holder, and no other personal data. The disclosure is recorded, and
 * counted for the operator, before they are read. Under an idempotency key, a repeat within a
 * minute is the same disclosure, and a later one is another.
 * @throws `Problem` `card_not_found`, `rate_limited`, and as `once`.
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
