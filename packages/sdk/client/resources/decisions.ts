import { CallFailed } from '../errors.ts'
import type {
  AcceptedAnswer,
  DecisionAnswer,
  DecisionReplay,
  DecisionRequest,
  DecisionWithRequest,
  RecordedDecision,
} from '../models.ts'
import { type Calls, type Listing, listing, type Query } from '../transport/calls.ts'
import { type FollowOptions, followStream } from '../transport/event-stream.ts'
import { type CallOptions, path, type Transport } from '../transport/transport.ts'

/** A request from the stream, with the exact body and headers that `verifyDecision` takes. */
export interface StreamedDecision {
  readonly request: DecisionRequest
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface Decisions {
  /** The decisions of the client, newest first. Scope `decisions.write` or `payments.read`. */
  list(query?: Query<'listDecisions'>, options?: CallOptions): Listing<RecordedDecision>
  /** A decision with its request. Scope `decisions.write` or `payments.read`. */
  retrieve(decisionId: string, options?: CallOptions): Promise<DecisionWithRequest>
  /** The first answer counts; another one throws `decision_answered`. Scope `decisions.write`. */
  answer(decisionId: string, answer: DecisionAnswer, options?: CallOptions): Promise<AcceptedAnswer>
  /**
   * Asks your endpoint, or one of its versions, again about a past decision. It changes nothing.
   * At most 4 replays wait at once. Scope `decisions.write`.
   */
  replay(
    decisionId: string,
    query?: Query<'replayDecision'>,
    options?: CallOptions,
  ): Promise<DecisionReplay>
  /**
   * Requests as they come, first those that wait. Broken connections are opened again: answer a
   * repeated `decisionId` as before. Ends with `break`, or with the signal, whose reason it throws.
   * Scope `decisions.write`.
   */
  stream(options?: FollowOptions): AsyncIterable<StreamedDecision>
}

export const decisions = ({ get, page, post }: Calls, transport: Transport): Decisions => ({
  list: (query = {}, options) =>
    listing((rest) => page<'listDecisions'>(path`/decisions`, rest, options), query),
  retrieve: (decisionId, options) => get<'findDecision'>(path`/decisions/${decisionId}`, options),
  answer: (decisionId, answer, options) =>
    post<'answerDecision'>(path`/decisions/${decisionId}/answer`, { ...answer }, options),
  replay: (decisionId, query = {}, options) =>
    post<'replayDecision'>(path`/decisions/${decisionId}/replay`, undefined, { ...options, query }),
  stream: (options = {}) => streamRequests(transport, options),
})

async function* streamRequests(
  transport: Transport,
  options: FollowOptions,
): AsyncGenerator<StreamedDecision, undefined> {
  const composeCall = () => ({ path: path`/decisions/stream` })
  for await (const { content } of followStream<SentDecision>(transport, composeCall, options)) {
    if (content) yield readRequest(content)
  }
}

type SentDecision = Pick<StreamedDecision, 'body' | 'headers'>

function readRequest({ body, headers }: SentDecision): StreamedDecision {
  try {
    return { request: JSON.parse(body) as DecisionRequest, headers, body }
  } catch {
    throw new CallFailed('unexpected_answer')
  }
}
