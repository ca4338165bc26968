import { KeyRefusal } from '../contract/stored-keys.ts'
import type { FailureKind, Start, Started, TokenAnswer, TokenRequest } from './client.ts'
import { findReturnValue } from './cryptoki.ts'
import { hasInstallationKey, installationCheckValues } from './installation-key.ts'
import { KeyMissing } from './objects.ts'
import { openTokenSession, PinRefused, type TokenSession } from './session.ts'
import { type SessionVerbs, tokenVerbs } from './verbs.ts'

/**
 * The process that holds the token: a PKCS#11 module is called synchronously, may hang or crash,
 * and once it has lost its token rarely finds it again, so it lives where it can be ended and begun
 * anew.
 */

/** A session and what is answered in it. */
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
// A signal to the whole group is for the service to follow: it still has requests to finish.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined)

/**
 * How often a token is opened, a tenth of a second apart: this process has nothing else to do yet.
 */
const openingsMost = 20

const pause = new Int32Array(new SharedArrayBuffer(4))

function open(start: Start): { opened: Work | null; started: Started } {
  for (let opening = 1; ; opening += 1) {
    try {
      return openOnce(start)
    } catch (error) {
      // Others may open it, too, and make their keys: a token that is files can then not be read as
      // a whole.
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
  // Each request carries the arguments of its verb, which the types cannot follow.
  const run = work.verbs[request.verb] as (...given: readonly unknown[]) => unknown
  try {
    reply({ id: request.id, answer: await run(...request.given) })
  } catch (error) {
    await fail(work, request, error)
  }
}

/** Whatever went wrong, the session may be in the middle of it: a new one takes its place. */
async function fail({ session }: Work, request: TokenRequest, error: unknown): Promise<void> {
  const renewed = renew(session)
  work = renewed
  // What was asked is at fault when it was not the module that objected, or when something did not
  // open: modules report a wrong tag by any of several return values, some of them general.
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

/** A session in which the token answers, or null when it is away. */
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
  // A return value alone does not say which function of the module returned it.
  const method = 'method' in error && typeof error.method === 'string' ? error.method : ''
  const message = method === '' ? error.message : `${error.message} from ${method}`
  const { cause } = error
  // The first line says what; what follows is where, for a programmer.
  const [reason] = cause instanceof Error ? cause.message.split('\n') : []
  return reason === undefined ? message : `${message} (${reason})`
}

function reply(message: Started | TokenAnswer, sent: () => void = () => undefined): void {
  process.send?.(message, undefined, undefined, sent)
}
