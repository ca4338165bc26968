import { CallFailed } from '../errors.ts'
import type {
  AcceptedAnswer,
  DecisionAnswer,
  DecisionReplay,
  DecisionRequest,
  DecisionWithRequest,
  RecordedDecision,
} from '../models.ts'
import { checkPatience } from '../options.ts'
import { mayRepeat, pause, waitAfter } from '../transport/attempt.ts'
import { type Calls, type Listing, listing, type Query } from '../transport/calls.ts'
import { parseContent } from '../transport/content.ts'
import { type Call, type CallOptions, path, type Transport } from '../transport/transport.ts'
import { eventBlocks, type FollowOptions, readText, usualSilenceMs } from './events.ts'

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

const streamCall: Call = {
  method: 'GET',
  path: path`/decisions/stream`,
  headers: { accept: 'text/event-stream' },
  isRepeatable: true,
}

async function* streamRequests(
  transport: Transport,
  { silenceMs = usualSilenceMs, ...options }: FollowOptions,
): AsyncGenerator<StreamedDecision, undefined> {
  checkPatience({ silenceMs })
  for (let failures = 0; ; failures += 1) {
    let failure: unknown
    try {
      const answer = await transport.open({ ...streamCall, ...options })
      for await (const { data } of eventBlocks(readText(answer, silenceMs, options.signal))) {
        failures = 0
        if (data !== undefined) yield readRequest(parseContent({ ...answer, text: data }))
      }
    } catch (error) {
      options.signal?.throwIfAborted()
      if (!mayRepeat(error, true)) throw error
      failure = error
    }
    // A stream also ends when its token expires, or when a process of the service stops.
    await pause(waitAfter(failure, failures), options.signal)
  }
}

function readRequest({
  body,
  headers,
}: Pick<StreamedDecision, 'body' | 'headers'>): StreamedDecision {
  try {
    return { request: JSON.parse(body) as DecisionRequest, headers, body }
  } catch {
    throw new CallFailed('unexpected_answer')
  }
}
