import { randomBytes, randomUUID } from 'node:crypto'
import type { DecisionEndpoint } from '../../domain/decision.ts'
import { toMembers } from '../../domain/members.ts'
import { Problem } from '../../domain/problem.ts'
import { guardedRequests, type OutboundRules } from '../../outbound/guarded-request.ts'
import { TargetRefused } from '../../outbound/resolve-host.ts'
import { hasStream } from '../../storage/clients/streams.ts'
import type { Database } from '../../storage/engine/database.ts'
import { answerBytesMax } from './parse-answer.ts'
import { PostFailed, postDecision } from './post-decision.ts'
import type { DecisionSigner } from './signing.ts'

/** An answer with any status, or the fault of the call in one sentence. */
type PingAnswer = { readonly status: number; readonly text: string } | { readonly fault: string }

/** Sends a ping to the URL of an endpoint. It takes the time-out of the endpoint at most. */
export type PostPing = (
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  timeoutMs: number,
) => Promise<PingAnswer>

/** The dependencies of pings. */
export interface PingContext {
  readonly database: Database
  readonly signer: DecisionSigner
  readonly postPing: PostPing
}

/**
 * Sends a signed ping to an endpoint, which proves that its client runs it and that it answers in
 * time. An endpoint without a URL needs an open stream instead.
 * @throws `Problem` `decision_ping_failed` with what was wrong.
 */
export async function pingEndpoint(
  { database, postPing, signer }: PingContext,
  { apiVersion, clientId, timeoutMs, url }: DecisionEndpoint,
): Promise<void> {
  if (url === null) {
    // A stream is opened by the client with its own token, which proves as much as a signature.
    if (await hasStream(database, clientId, 'decisions.write')) return
    throw refusePing(
      'The client has no open stream. Start pinfold decisions listen --exec FILE, ' +
        'or register a URL.',
    )
  }
  const challenge = randomBytes(16).toString('base64url')
  const body = JSON.stringify({ type: 'decision.ping', challenge })
  const signature = await signer.signDecision(clientId, randomUUID(), new Date(), body)
  const answer = await postPing(url, { ...signature, 'api-version': apiVersion }, body, timeoutMs)
  const fault = 'fault' in answer ? answer.fault : findFault(answer, challenge)
  if (fault !== null) throw refusePing(fault)
}

const refusePing = (detail: string): Problem => new Problem('decision_ping_failed', { detail })

/** Returns the fault of an answer in one sentence, or null. */
function findFault(
  { status, text }: { readonly status: number; readonly text: string },
  challenge: string,
): string | null {
  if (status >= 300 && status < 400) {
    return `The endpoint answered with the status ${status}. Redirects are not followed.`
  }
  if (status === 401) {
    return (
      'The endpoint answered with the status 401 instead of 200. If it refused the signature, ' +
      'check that it uses the present key.'
    )
  }
  if (status !== 200) return `The endpoint answered with the status ${status} instead of 200.`
  const members = parseObject(text)
  if (members === null) return 'The body of the answer is not a JSON object.'
  if (members.challenge === challenge) return null
  return 'The answer must be {"challenge": …} with the value of the ping.'
}

function parseObject(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? toMembers(value) : null
  } catch {
    return null
  }
}

/** Creates the function that posts pings to checked addresses. */
export function createPingPost(rules: OutboundRules): PostPing {
  const request = guardedRequests(rules)
  return async (url, headers, body, timeoutMs) => {
    const signal = AbortSignal.timeout(timeoutMs)
    let status = 0
    try {
      const { bytes } = await postDecision(request, {
        url: new URL(url),
        headers,
        body,
        signal,
        isAlone: false,
        onStatus(statusCode) {
          status = statusCode
        },
      })
      return { status, text: Buffer.from(bytes).toString('utf8') }
    } catch (error) {
      if (!(error instanceof PostFailed)) throw error
      if (error.reason !== 'too_large') {
        return { fault: describeFailure(error.cause, signal, timeoutMs) }
      }
      // Of an error page, the status tells more than the length.
      if (status !== 200) return { status, text: '' }
      return { fault: `The body of the answer exceeds ${answerBytesMax} bytes.` }
    }
  }
}

/** Says why there was no answer. The code of an error holds nothing of the receiver's. */
function describeFailure(error: unknown, signal: AbortSignal, timeoutMs: number): string {
  if (signal.aborted) return `The endpoint did not answer within ${timeoutMs} ms.`
  if (error instanceof TargetRefused) return `The address was not called: ${error.message}.`
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'no answer'
  if (code === 'ECONNREFUSED') return 'The endpoint refused the connection.'
  if (/CERT|TLS|SSL|ISSUER|EPROTO|SIGNATURE/.test(code)) {
    return `TLS with the endpoint failed (${code}).`
  }
  return `The connection to the endpoint failed (${code}).`
}
