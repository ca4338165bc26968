import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '../../domain/problem.ts'
import type { Caller } from '../oauth/access-token-verifier.ts'
import type { Admission } from './admission.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route returns a list, which costs as much as several other calls. */
    readonly lists?: boolean
    /**
     * Whether the route answers requests of this service. As many calls come as it sends requests:
     * they have a queue of their own, and no rate.
     */
    readonly answersRequests?: boolean
  }
  interface FastifyRequest {
    /** Set when a bounded call may begin. */
    inFlight: InFlight | null
  }
}

interface InFlight {
  /**
   * Set when the operation begins. It then counts until its end, even if the caller disconnects.
   */
  isInWork: boolean
  leave(): void
}

/**
 * The admission for each kind of caller, and for the answers of clients; absent without a bound.
 */
export type Admissions = Partial<Record<Caller['kind'] | 'answer', Admission>>

/** The cost of a page of a hundred entries, relative to a single read. */
const listWeight = 8

/**
 * Bounds the calls in flight of each caller, so that none delays the others. The bound applies
 * after the body is read; otherwise a few callers with slow bodies could hold all slots. A stream
 * counts only while it is opened.
 */
export function boundInFlight(app: FastifyInstance, admissions: Admissions): void {
  app.decorateRequest('inFlight', null)
  app.addHook('preValidation', async (request, reply) => {
    const { caller, routeOptions } = request
    const admission =
      caller && admissions[routeOptions.config.answersRequests ? 'answer' : caller.kind]
    if (admission) request.inFlight = await enter(admission, request, reply)
  })
  app.addHook('preHandler', async ({ inFlight }) => {
    if (inFlight) inFlight.isInWork = true
  })
  // The operation has ended; its answer is still to be sent.
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
