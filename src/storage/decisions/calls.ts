import type { DecisionAnswer } from '../../domain/decision.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

const declare = loadStatements(import.meta.url)

/** The names of a decision: of its card, and its own. */
export interface DecisionKey {
  readonly publicToken: PublicToken
  readonly decisionId: string
}

/** An answer with the SHA-256 of the bytes that it came in. */
export interface HashedAnswer {
  readonly answer: DecisionAnswer
  readonly answerHash: Uint8Array
}

/** Writes an answer as the database stores it, and as its functions read it. */
const writeAnswer = ({ answer, answerHash }: HashedAnswer): string =>
  JSON.stringify({ ...answer, answerHash: Buffer.from(answerHash).toString('hex') })

/** Reads an answer that the database has stored, such as `decision.called_answer`. */
export function readAnswer(text: string): HashedAnswer {
  const { answerHash, holdExpiresAt, ...answer } = JSON.parse(text) as WrittenAnswer
  return {
    answer: { ...answer, holdExpiresAt: holdExpiresAt === null ? null : new Date(holdExpiresAt) },
    answerHash: Buffer.from(answerHash, 'hex'),
  }
}

type WrittenAnswer = Omit<DecisionAnswer, 'holdExpiresAt'> & {
  readonly holdExpiresAt: string | null
  readonly answerHash: string
}

/** The decision that an answer must fit. */
export interface AnsweredDecision {
  readonly publicToken: PublicToken
  readonly authorizationId: string
  readonly heldAmount: number | null
  readonly heldCurrencyCode: string | null
  /** `DecisionFacts`, as JSON. */
  readonly facts: string
}

const selectDecision = declare<{ clientId: string; decisionId: string }, AnsweredDecision>(
  'find_decision_card',
)

/** Returns the decision of a client with this id, or null. */
export const findAnsweredDecision = async (
  connection: Connection,
  clientId: string,
  decisionId: string,
): Promise<AnsweredDecision | null> =>
  firstRow(await selectDecision(connection, { clientId, decisionId }))

/** The outcome of an answer by a call. */
export interface TakenAnswer {
  readonly outcome: 'accepted' | 'taken' | 'late' | 'unknown'
  /** With `taken`: the first answer, as JSON. */
  readonly said: string | null
}

const takeAnswer = declare<DecisionKey & { answer: string }, TakenAnswer>('take_decision_answer')

/** Takes an answer that came by a call, unless there is one, or it comes too late. */
export async function takeDecisionAnswer(
  connection: Connection,
  { decisionId, publicToken }: DecisionKey,
  answer: HashedAnswer,
): Promise<TakenAnswer> {
  const values = { publicToken, decisionId, answer: writeAnswer(answer) }
  return firstRow(await takeAnswer(connection, values)) ?? { outcome: 'unknown', said: null }
}

const recordLate = declare<
  DecisionKey & { answer: string; requestId: string | null },
  { isRecorded: boolean }
>('record_late_answer')

/**
 * Records an answer that came too late, and its event `decision.late`: the first one of a decision.
 * @returns whether it is the first.
 */
export async function recordLateAnswer(
  connection: Connection,
  { decisionId, publicToken }: DecisionKey,
  answer: HashedAnswer,
  requestId: string | null,
): Promise<boolean> {
  const values = { publicToken, decisionId, answer: writeAnswer(answer), requestId }
  return firstRow(await recordLate(connection, values))?.isRecorded ?? false
}

const selectCalled = declare<
  { decisionIds: readonly string[] },
  { decisionId: string; answer: string }
>('list_called_answers')

/** Lists the answers by calls to these decisions, as long as they are not concluded. */
export async function listCalledAnswers(
  connection: Connection,
  decisionIds: readonly string[],
): Promise<ReadonlyMap<string, HashedAnswer>> {
  const rows = await selectCalled(connection, { decisionIds })
  return new Map(rows.map(({ answer, decisionId }) => [decisionId, readAnswer(answer)]))
}
