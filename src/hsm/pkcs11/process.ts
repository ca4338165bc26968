import { KeyRefusal } from '../contract/stored-keys.ts'
import type { FailureKind, Start, Started, TokenAnswer, TokenRequest } from './client.ts'
import { findReturnValue } from './cryptoki.ts'
import { hasInstallationKey, installationCheckValues } from './installation-key.ts'
import { KeyMissing } from './objects.ts'
import { openTokenSession, PinRefused, type TokenSession } from './session.ts'
import { type SessionVerbs, tokenVerbs } from './verbs.ts'

/**
 * The process that holds the token. A PKCS#11 module is called synchronously, may hang or crash,
 * and rarely recovers a lost token, so it runs in a process that can be restarted.
 */

/** A session and its verbs. */
interface Work {
  readonly session: TokenSession
  readonly verbs: SessionVerbs
}

const workIn = (session: TokenSession): Work => ({ session, verbs: tokenVerbs(session) })

let work: Work | null = null

process.once('message', (start: Start) => {
  const { opened, started } = open(start)
  work = opened
  reply(started, () => {
    if (opened) process.on('message', (request: TokenRequest) => void answer(request))
    else process.exit(1)
  })
})
process.on('disconnect', () => {
  work?.session.end()
  process.exit(0)
})
// A signal to the whole group concerns the service, which still has requests to finish.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined)

/** The number of attempts to open a token, 0.1 seconds apart. */
const openingsMost = 20

const pause = new Int32Array(new SharedArrayBuffer(4))

function open(start: Start): { opened: Work | null; started: Started } {
  for (let opening = 1; ; opening += 1) {
    try {
      return openOnce(start)
    } catch (error) {
      // Other processes may open the token and generate keys at the same time, and a token made of
      // files is then temporarily unreadable.
      if (opening < openingsMost && findReturnValue(error) !== null) {
        Atomics.wait(pause, 0, 0, 100)
        continue
      }
      const started = { failure: describeError(error), isFinal: error instanceof PinRefused }
      return { opened: null, started }
    }
  }
}

function openOnce({ checkValue, settings }: Start): { opened: Work; started: Started } {
  const session = openTokenSession(settings)
  try {
    if (checkValue !== null && !hasInstallationKey(session)) throw new Error(wrongToken)
    const checkValues = installationCheckValues(session)
    if (checkValue !== null && !checkValues.includes(checkValue)) throw new Error(wrongToken)
    return { opened: workIn(session), started: { checkValues } }
  } catch (error) {
    session.end()
    throw error
  }
}

const wrongToken = 'The token with this label does not have the keys of this installation.'

async function answer(request: TokenRequest): Promise<void> {
  if (!work) return
  // Each request carries the arguments of its verb, which the types cannot express.
  const run = work.verbs[request.verb] as (...given: readonly unknown[]) => unknown
  try {
    reply({ id: request.id, answer: await run(...request.given) })
  } catch (error) {
    await fail(work, request, error)
  }
}

/** After a fault the session may be in the middle of an operation, so a new session replaces it. */
async function fail({ session }: Work, request: TokenRequest, error: unknown): Promise<void> {
  const renewed = renew(session)
  work = renewed
  // The request is at fault if the module raised no error, or if decryption failed: modules report
  // a wrong tag with several return values, some of them generic.
  const isRequestFault =
    error instanceof KeyMissing || findReturnValue(error) === null || request.verb === 'open'
  let kind: FailureKind = 'unavailable'
  if (renewed && error instanceof KeyRefusal) kind = 'keyRefused'
  else if (renewed && isRequestFault) kind = 'refused'
  const answer = { id: request.id, failure: describeError(error), kind }
  reply(answer, () => {
    if (!renewed) process.exit(1)
  })
}

/** Opens a session in which the token answers; returns null during an outage. */
function renew(session: TokenSession): Work | null {
  try {
    const renewed = session.renew()
    return hasInstallationKey(renewed) ? workIn(renewed) : null
  } catch {
    return null
  }
}

function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  // A return value alone does not state which function of the module returned it.
  const method = 'method' in error && typeof error.method === 'string' ? error.method : ''
  const message = method === '' ? error.message : `${error.message} from ${method}`
  const { cause } = error
  // The first line has the reason; the rest is a stack for programmers.
  const [reason] = cause instanceof Error ? cause.message.split('\n') : []
  return reason === undefined ? message : `${message} (${reason})`
}

function reply(message: Started | TokenAnswer, sent: () => void = () => undefined): void {
  process.send?.(message, undefined, undefined, sent)
}
