import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '../../domain/problem.ts'
import type { Caller } from '../oauth/access-token-verifier.ts'
import type { Admission } from './admission.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether it answers a list, which costs as much as several other calls. */
    readonly lists?: boolean
  }
  interface FastifyRequest {
    /** Set where the caller's calls in flight are bounded, once this one may begin. */
    inFlight: InFlight | null
  }
}

interface InFlight {
  /**
   * Set when the operation begins: from then on it is in work, whether its caller is there or not.
   */
  isInWork: boolean
  leave(): void
}

/** Who lets the calls of whom begin; nothing where they are not bounded. */
export type Admissions = Partial<Record<Caller['kind'], Admission>>

/** A page of a hundred, beside a read of one. */
const listWeight = 8

/**
 * Bounds how many calls of one caller are in flight, so that none keeps the others waiting. It
 * comes after the body is read: a few callers that send theirs slowly would take every slot, and
 * have nothing to do. A stream counts while it is opened only.
 */
export function boundInFlight(app: FastifyInstance, admissions: Admissions): void {
  app.decorateRequest('inFlight', null)
  app.addHook('preValidation', async (request, reply) => {
    const admission = request.caller && admissions[request.caller.kind]
    if (admission) request.inFlight = await enter(admission, request, reply)
  })
  app.addHook('preHandler', async ({ inFlight }) => {
    if (inFlight) inFlight.isInWork = true
  })
  // The operation is over, well or not; what it answers is still to be sent.
  app.addHook('onSend', async ({ inFlight }) => inFlight?.leave())
}

async function enter(
  admission: Admission,
  { caller, routeOptions }: FastifyRequest,
  { raw: response }: FastifyReply,
): Promise<InFlight> {
  const gone = new AbortController()
  const close = () => gone.abort(new Problem('malformed_request'))
  response.once('close', close)
  const weight = routeOptions.config.lists ? listWeight : 1
  const leave = await admission
    .enter(caller?.clientId ?? '', { weight, gone: gone.signal })
    .finally(() => response.off('close', close))
  const inFlight = { isInWork: false, leave }
  response.once('close', () => {
    if (!inFlight.isInWork) leave()
  })
  return inFlight
}
