import {
  type AskError,
  type Decider,
  type DecisionPurpose,
  type DecisionReason,
  type DecisionVerdict,
  decisionPurposes,
} from '../../domain/decision.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

/** A stored decision. */
export interface DecisionRow {
  readonly publicToken: PublicToken
  readonly decisionId: string
  readonly clientId: string
  readonly authorizationId: string
  readonly sequence: number
  readonly purpose: DecisionPurpose
  /** 0 for the endpoint of all products. */
  readonly endpointProductId: number
  readonly endpointVersion: number
  /** `DecisionFacts`, as JSON. */
  readonly facts: string
  readonly heldAmount: number | null
  readonly heldCurrencyCode: string | null
  readonly askedAt: Date
  readonly deadline: Date
  /** Null until then, as are the members that follow. */
  readonly concludedAt: Date | null
  readonly decidedBy: Decider | null
  readonly verdict: DecisionVerdict | null
  readonly approvedAmount: number | null
  readonly reason: DecisionReason | null
  readonly responseCode: string | null
  readonly error: AskError | null
  readonly statusCode: number | null
  readonly durationMs: number | null
  /** Hexadecimal. */
  readonly requestHash: string | null
  readonly answerHash: string | null
  /** JSON. */
  readonly metadata: string | null
  readonly calledAnswer: string | null
  readonly calledAt: Date | null
  readonly lateAnswer: string | null
  /** Separated by a space. */
  readonly purposeAndDecider: string | null
}

/** Selects decisions of a client. */
export interface DecisionFilter {
  readonly publicToken: PublicToken | null
  readonly purpose: DecisionPurpose | null
  readonly decidedBy: Decider | null
  /** The id after which it continues; null for the first page. */
  readonly before: string | null
  /** At most 101. */
  readonly limit: number
}

/** An id that is greater than every other one. */
const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

const declare = loadStatements(import.meta.url)

interface ClientPage {
  readonly clientId: string
  readonly before: string
  readonly limit: number
}

const selectAll = declare<ClientPage, DecisionRow>('list_decisions_of_client')
const selectOfPurpose = declare<ClientPage & { purpose: string }, DecisionRow>(
  'list_decisions_of_purpose',
)
const selectByDecider = declare<
  ClientPage & { purpose: DecisionPurpose; decidedBy: string },
  DecisionRow
>('list_decisions_by_decider')
const selectOfCard = declare<
  ClientPage & { publicToken: PublicToken; purpose: string | null; decidedBy: string | null },
  DecisionRow
>('list_decisions_of_card')

const compareNewestFirst = (one: DecisionRow, other: DecisionRow): number =>
  one.decisionId < other.decisionId ? 1 : -1

/** Lists decisions of a client, newest first. */
export async function listDecisions(
  connection: Connection,
  clientId: string,
  { before, decidedBy, limit, publicToken, purpose }: DecisionFilter,
): Promise<DecisionRow[]> {
  const page = { clientId, before: before ?? lastId, limit }
  if (publicToken !== null) {
    return selectOfCard(connection, { ...page, publicToken, purpose, decidedBy })
  }
  if (decidedBy !== null) {
    const pages = await Promise.all(
      (purpose === null ? decisionPurposes : [purpose]).map((each) =>
        selectByDecider(connection, { ...page, purpose: each, decidedBy }),
      ),
    )
    return pages.flat().sort(compareNewestFirst).slice(0, limit)
  }
  if (purpose !== null) return selectOfPurpose(connection, { ...page, purpose })
  return selectAll(connection, page)
}

const selectOne = declare<{ clientId: string; decisionId: string }, DecisionRow>(
  'find_decision_of_client',
)

/** Returns one decision of a client, or null. */
export const findDecision = async (
  connection: Connection,
  clientId: string,
  decisionId: string,
): Promise<DecisionRow | null> => firstRow(await selectOne(connection, { clientId, decisionId }))
