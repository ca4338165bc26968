import { hash } from 'node:crypto'
import type { AskError, DecisionAnswer, DecisionEndpoint } from '../../domain/decision.ts'
import type { GuardedRequest } from '../../outbound/guarded-request.ts'
import type { DecisionRequest } from './compose-request.ts'
import { formats } from './formats.ts'
import { type PostedAnswer, PostFailed, postDecision } from './post-decision.ts'
import type { DecisionSigner } from './signing.ts'

/** A request on its way to an endpoint. */
export interface Exchange {
  readonly endpoint: DecisionEndpoint
  readonly request: DecisionRequest
  readonly body: string
  readonly startedMs: number
  /** By the clock of `performance.now()`, as `startedMs`. */
  readonly deadlineMs: number
  readonly abort: AbortController
  /** Whether a byte of it may have been sent. */
  isSent: boolean
  /** Known before the body of the answer. */
  statusCode: number | null
}

/** The outcome of an exchange, in time or late. */
export interface ExchangeResult {
  readonly answer: DecisionAnswer | null
  readonly error: AskError | null
  readonly answerHash: Uint8Array | null
}

interface ExchangeOptions {
  readonly send: GuardedRequest
  readonly signer: Pick<DecisionSigner, 'signDecision'>
  readonly isSandbox: boolean
  /** The clock of the service, by which holds expire. */
  readonly now: () => Date
  /** Receives the cause of a failure of this process. */
  readonly onFault: (error: unknown) => void
}

/** A retry needs this share of the time. */
const retryShare = 0.4

/**
 * Sends a request, and judges the answer. If the connection fails before any byte of an answer, the
 * same bytes are sent once more, as long as enough time is left. Never rejects.
 */
export async function runExchange(
  exchange: Exchange,
  options: ExchangeOptions,
): Promise<ExchangeResult> {
  try {
    const headers = await composeHeaders(exchange, options).catch((error: unknown) => {
      throw new PostFailed('signing_failed', false, error)
    })
    const posted = await post(exchange, options, headers, 1).catch((error: unknown) => {
      if (!mayRetry(exchange, error)) throw error
      return post(exchange, options, headers, 2)
    })
    return judge(exchange, posted, options.now())
  } catch (error) {
    if (!(error instanceof PostFailed)) options.onFault(error)
    else if (error.reason === 'signing_failed') options.onFault(error.cause)
    // Only an answer that this process cannot read ends in another error.
    const reason = error instanceof PostFailed ? error.reason : 'bad_body'
    return { answer: null, error: reason, answerHash: null }
  }
}

const mayRetry = (exchange: Exchange, error: unknown): boolean =>
  error instanceof PostFailed &&
  error.isUntouched &&
  !exchange.abort.signal.aborted &&
  hasTimeToRetry(exchange, performance.now())

/** Whether enough of the time of an exchange is left for a retry. */
export const hasTimeToRetry = (
  { deadlineMs, startedMs }: Pick<Exchange, 'deadlineMs' | 'startedMs'>,
  nowMs: number,
): boolean => deadlineMs - nowMs >= retryShare * (deadlineMs - startedMs)

/** The inputs of a request's headers. */
interface Headed {
  readonly body: string
  readonly endpoint: Pick<DecisionEndpoint, 'apiVersion' | 'clientId'>
  readonly request: DecisionRequest
}

/** Composes the headers of a request, by whatever way it is sent. */
export async function composeHeaders(
  { body, endpoint, request }: Headed,
  { isSandbox, signer }: Pick<ExchangeOptions, 'isSandbox' | 'signer'>,
): Promise<Readonly<Record<string, string>>> {
  const { facts, reserved } = request
  const { decisionId } = reserved
  const signature = await signer.signDecision(endpoint.clientId, decisionId, new Date(), body)
  return {
    ...signature,
    'decision-deadline': reserved.deadline.toISOString(),
    'api-version': endpoint.apiVersion,
    traceparent: composeTraceparent(facts.authorizationId, decisionId),
    ...(isSandbox && { sandbox: 'true' }),
  }
}

/**
 * Composes the trace of a request (W3C Trace Context): all requests about an authorization have its
 * id as their trace.
 */
const composeTraceparent = (authorizationId: string, decisionId: string): string =>
  `00-${authorizationId.replaceAll('-', '')}-${decisionId.replaceAll('-', '').slice(16)}-01`

function post(
  exchange: Exchange,
  { send }: ExchangeOptions,
  headers: Readonly<Record<string, string>>,
  attempt: 1 | 2,
): Promise<PostedAnswer> {
  exchange.isSent = true
  exchange.statusCode = null
  return postDecision(send, {
    url: new URL(exchange.endpoint.url ?? ''),
    // It is not in the body, whose bytes are the same at a retry.
    headers: { ...headers, 'decision-attempt': String(attempt) },
    body: exchange.body,
    signal: exchange.abort.signal,
    // Other kept connections may have failed with the first one.
    isAlone: attempt === 2,
    onStatus(statusCode) {
      exchange.statusCode = statusCode
    },
  })
}

function judge(
  { endpoint, request }: Exchange,
  { bytes, mayBeJson, statusCode }: PostedAnswer,
  now: Date,
): ExchangeResult {
  const answerHash = hash('sha256', bytes, 'buffer')
  if (statusCode !== 200) return { answer: null, error: 'bad_status', answerHash }
  if (!mayBeJson) return { answer: null, error: 'bad_body', answerHash }
  const { facts, reserved } = request
  const parsed = formats[endpoint.format].parse(bytes, {
    decisionId: reserved.decisionId,
    hold: reserved.hold,
    partialAllowed: facts.partialAllowed,
    now,
  })
  return 'error' in parsed
    ? { answer: null, error: parsed.error, answerHash }
    : { answer: parsed.answer, error: null, answerHash }
}
