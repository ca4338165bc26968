import { hash } from 'node:crypto'
import type {
  AskError,
  AskOutcome,
  DecisionEndpoint,
  DecisionPurpose,
} from '../../domain/decision.ts'
import type { Asker } from './ask.ts'
import type { CalledAnswer, CalledAnswers } from './calls.ts'
import type { DecisionRequest } from './compose-request.ts'
import { formats } from './formats.ts'
import type { Lane, Lanes } from './lanes.ts'
import type { DecisionStreams } from './streams.ts'

/** Receives the outcome of each request. */
export interface ClientAskObserver {
  asked(purpose: DecisionPurpose, outcome: AskOutcome): void
}

interface ClientAskerOptions {
  readonly asker: Pick<Asker, 'ask'>
  readonly answers: Pick<CalledAnswers, 'wait'>
  readonly streams: Pick<DecisionStreams, 'offer' | 'isTaken'>
  readonly lanes: Pick<Lanes, 'find'>
  readonly observe: ClientAskObserver
}

/** Asks a client in the way that its endpoint says, and resolves at the deadline at the latest. */
export type AskClient = (
  endpoint: DecisionEndpoint,
  request: DecisionRequest,
) => Promise<AskOutcome>

/**
 * Asks by HTTP, or on the streams of the client. In both ways the answer may also come by a call:
 * the first usable one counts. In neither way do more than `maxInFlight` requests wait.
 */
export function createClientAsker({
  answers,
  asker,
  lanes,
  observe,
  streams,
}: ClientAskerOptions): AskClient {
  return async (endpoint, request) => {
    const lane = lanes.find(endpoint, request.purpose)
    const outcome =
      lane.inFlight < endpoint.maxInFlight
        ? await askIn(lane, endpoint, request)
        : composeOutcome(endpoint, request, performance.now(), null, 'too_many_in_flight')
    observe.asked(request.purpose, outcome)
    return outcome
  }

  async function askIn(
    lane: Lane,
    endpoint: DecisionEndpoint,
    request: DecisionRequest,
  ): Promise<AskOutcome> {
    lane.inFlight += 1
    const ended = new AbortController()
    const called = answers.wait(request.reserved.decisionId, ended.signal)
    try {
      return endpoint.url === null
        ? await waitForStream(endpoint, request, called)
        : await asker.ask(endpoint, request, called)
    } finally {
      lane.inFlight -= 1
      ended.abort()
    }
  }

  async function waitForStream(
    endpoint: DecisionEndpoint,
    request: DecisionRequest,
    called: Promise<CalledAnswer | null>,
  ): Promise<AskOutcome> {
    const startedMs = performance.now()
    const { facts, reserved } = request
    const { promise: late, resolve } = Promise.withResolvers<null>()
    const leftMs = Math.max(0, reserved.deadline.getTime() - Date.now())
    const timer = setTimeout(() => resolve(null), leftMs)
    streams.offer(endpoint.clientId)
    const answered = await Promise.race([called, late])
    clearTimeout(timer)
    if (answered) return composeOutcome(endpoint, request, startedMs, answered, null)
    const key = { publicToken: facts.card.publicToken, decisionId: reserved.decisionId }
    // Without an answer of the database, the time ran out.
    const isTaken = await streams.isTaken(key).catch(() => true)
    return composeOutcome(endpoint, request, startedMs, null, isTaken ? null : 'no_stream')
  }
}

const composeOutcome = (
  endpoint: DecisionEndpoint,
  request: DecisionRequest,
  startedMs: number,
  answered: CalledAnswer | null,
  error: AskError | null,
): AskOutcome => ({
  answer: answered?.answer ?? null,
  error,
  durationMs: performance.now() - startedMs,
  statusCode: null,
  requestHash:
    error === null ? hash('sha256', formats[endpoint.format].compose(request), 'buffer') : null,
  answerHash: answered?.answerHash ?? null,
})
