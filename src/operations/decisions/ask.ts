import { hash } from 'node:crypto'
import type { AskError, AskOutcome, DecisionEndpoint } from '../../domain/decision.ts'
import type { HashedAnswer } from '../../storage/decisions/calls.ts'
import type { Admitted, BreakerChange } from './breaker.ts'
import type { CalledAnswer } from './calls.ts'
import type { DecisionRequest } from './compose-request.ts'
import { type Exchange, type ExchangeResult, runExchange } from './exchange.ts'
import { formats } from './formats.ts'
import type { Lane, Lanes } from './lanes.ts'
import type { DecisionSigner } from './signing.ts'

/** Asks the endpoints of clients by HTTP. */
export interface Asker {
  /**
   * Resolves with the answer, or with the reason for its absence: at the deadline at the latest.
   * Never rejects.
   * @param endpoint one with a URL.
   * @param called the answer by a call of the client, which ends the request; null if none came.
   */
  ask(
    endpoint: DecisionEndpoint,
    request: DecisionRequest,
    called: Promise<CalledAnswer | null>,
  ): Promise<AskOutcome>
  load(): AskerLoad
  /** Aborts everything that is on its way. */
  close(): void
}

/** The requests of an asker at one moment. */
interface AskerLoad {
  /** Requests that wait for an answer. */
  readonly inFlight: number
  /** Requests after their deadline, whose answers are awaited to be reported. */
  readonly overdue: number
  /** Endpoints in use that are sent nothing but probes. */
  readonly openBreakers: number
}

/** Receives what an asker notices. */
export interface AskObserver {
  answeredLate(request: DecisionRequest, late: HashedAnswer): void
  /** This process failed. The fallback decides. */
  faulted(error: unknown): void
  breakerChanged(endpoint: DecisionEndpoint, request: DecisionRequest, change: BreakerChange): void
}

interface AskerOptions {
  readonly lanes: Lanes
  readonly signer: Pick<DecisionSigner, 'signDecision'>
  /** Whether requests say that they come from a sandbox. */
  readonly isSandbox: boolean
  /** The clock of the service, by which holds expire. */
  readonly now: () => Date
  readonly observe: AskObserver
}

/** How long an answer is awaited after its deadline. */
const overdueMostMs = 10_000

/** How many answers of a lane are awaited after their deadline; the others are cut off. */
const overdueMost = 32

export function createAsker({ isSandbox, lanes, now, observe, signer }: AskerOptions): Asker {
  const running = new Set<Exchange>()

  async function ask(
    endpoint: DecisionEndpoint,
    request: DecisionRequest,
    called: Promise<CalledAnswer | null>,
  ): Promise<AskOutcome> {
    const startedMs = performance.now()
    const lane = lanes.find(endpoint, request.purpose)
    const refuse = (error: AskError | null): AskOutcome =>
      composeOutcome(startedMs, null, { ...noResult, error })
    const leftMs = Math.min(request.reserved.deadline.getTime() - Date.now(), endpoint.timeoutMs)
    if (leftMs <= 0) return refuse(null)
    let body: string
    try {
      body = formats[endpoint.format].compose(request)
    } catch (error) {
      observe.faulted(error)
      return refuse('signing_failed')
    }
    const admitted = lane.breaker.admit()
    if (admitted === null) return refuse('breaker_open')
    const exchange: Exchange = {
      endpoint,
      request,
      body,
      startedMs,
      deadlineMs: startedMs + leftMs,
      abort: new AbortController(),
      isSent: false,
      statusCode: null,
    }
    running.add(exchange)
    const onFault = observe.faulted
    const ended = runExchange(exchange, { send: lane.request, signer, isSandbox, now, onFault })
    const result = await beforeDeadline(exchange, ended, called)
    if (result === null) void awaitOverdue(exchange, lane, ended)
    else running.delete(exchange)
    const outcome = composeOutcome(startedMs, exchange, result ?? overdueResult(exchange))
    settleBreaker(exchange, lane, admitted, outcome)
    return outcome
  }

  function settleBreaker(
    { endpoint, isSent, request }: Exchange,
    { breaker }: Lane,
    admitted: Admitted,
    outcome: AskOutcome,
  ): void {
    // A request that this process did not send tells nothing about the endpoint.
    if (!isSent) return
    const change = breaker.settle(admitted, isAnswered(outcome))
    if (change && request.purpose === 'authorize') observe.breakerChanged(endpoint, request, change)
  }

  /** Reports an answer that still comes. What was not sent by now never is. */
  async function awaitOverdue(
    exchange: Exchange,
    lane: Lane,
    ended: Promise<ExchangeResult>,
  ): Promise<void> {
    const { abort, isSent, request } = exchange
    if (!isSent || lane.overdue >= overdueMost) abort.abort()
    lane.overdue += 1
    const timer = setTimeout(() => abort.abort(), overdueMostMs)
    const { answer, answerHash } = await ended
    clearTimeout(timer)
    lane.overdue -= 1
    running.delete(exchange)
    if (answer === null || answerHash === null) return
    observe.answeredLate(request, { answer, answerHash })
  }

  return {
    ask,
    load() {
      const all = lanes.list()
      return {
        inFlight: all.reduce((sum, { inFlight }) => sum + inFlight, 0),
        overdue: all.reduce((sum, { overdue }) => sum + overdue, 0),
        openBreakers: lanes.countOpenBreakers(),
      }
    },
    close() {
      for (const { abort } of running) abort.abort()
    },
  }
}

const noResult: ExchangeResult = { answer: null, error: null, answerHash: null }

/** After the deadline: a status that is no answer is known without its body. */
const overdueResult = ({ statusCode }: Exchange): ExchangeResult =>
  statusCode === null || statusCode === 200 ? noResult : { ...noResult, error: 'bad_status' }

const composeOutcome = (
  startedMs: number,
  exchange: Exchange | null,
  result: ExchangeResult,
): AskOutcome => ({
  ...result,
  durationMs: performance.now() - startedMs,
  statusCode: exchange?.statusCode ?? null,
  requestHash: exchange?.isSent ? hash('sha256', exchange.body, 'buffer') : null,
})

/**
 * Waits for the answer by HTTP or by a call, whichever comes first.
 * @returns null if the deadline comes before both.
 */
async function beforeDeadline(
  { abort, deadlineMs }: Exchange,
  ended: Promise<ExchangeResult>,
  called: Promise<CalledAnswer | null>,
): Promise<ExchangeResult | null> {
  const { promise, resolve } = Promise.withResolvers<ExchangeResult | null>()
  const timer = setTimeout(() => resolve(null), deadlineMs - performance.now())
  void ended.then((result) => resolve(performance.now() > deadlineMs ? null : result))
  void called.then((answered) => {
    if (!answered) return
    resolve({ ...answered, error: null })
    // Nothing that still comes by HTTP counts.
    abort.abort()
  })
  const result = await promise
  clearTimeout(timer)
  return result
}

/** Errors without an answer. All others are answers, if useless ones. */
const unanswered: readonly (AskError | null)[] = ['connection_failed', 'target_refused']

/** Whether the endpoint answered: a status of 500 or more comes from a gateway in front of it. */
function isAnswered({ answer, error, statusCode }: AskOutcome): boolean {
  if (error === 'bad_status') return statusCode !== null && statusCode < 500
  return answer !== null || (error !== null && !unanswered.includes(error))
}
