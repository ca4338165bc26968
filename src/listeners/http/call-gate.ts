import type { FastifyInstance, FastifyReply } from 'fastify'
import { Problem } from '../../domain/problem.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the operation holds other calls back itself, and so must not wait for them. */
    readonly holdsCalls?: boolean
  }
  interface FastifyRequest {
    /** Called when the operation has ended; null for a call that is not counted. */
    leaveGate: (() => void) | null
  }
}

/** Holds calls back while the state under them is replaced. */
export interface CallGate {
  /**
   * Resolves when a call may begin, with a function to call at its end, once or more often.
   * @throws `Problem` `unavailable` if calls are held back for too long.
   */
  enter(): Promise<() => void>
  /**
   * Holds new calls back, and waits until the running ones have ended.
   * @param waits whether it waits while another one holds calls back.
   * @returns whether they have ended; otherwise calls are let in again.
   */
  close(waits: boolean): Promise<boolean>
  /** Lets the held calls in. */
  open(): void
}

interface GateTimes {
  /** How long a call waits at most. */
  readonly waitMs: number
  /** How long running calls may take to end. */
  readonly endMs: number
  /** After this time the gate opens itself: the process that closed it may have ended. */
  readonly closedMostMs: number
}

const usualTimes: GateTimes = { waitMs: 4_000, endMs: 2_000, closedMostMs: 60_000 }

const heldTooLong = (): Problem =>
  new Problem('unavailable', {
    detail: 'A snapshot of the sandbox is being taken or restored. Nothing was done.',
    retryAfterSeconds: 1,
  })

export function createCallGate({ closedMostMs, endMs, waitMs }: GateTimes = usualTimes): CallGate {
  let opening: PromiseWithResolvers<void> | null = null
  let opensItself: NodeJS.Timeout | undefined
  let running = 0
  let whenQuiet: (() => void) | null = null
  const open = (): void => {
    clearTimeout(opensItself)
    opening?.resolve()
    opening = null
  }
  /** Waits until it is open. Another one may close it before a waiting one gets its turn. */
  const isOpen = async (): Promise<boolean> => {
    const untilMs = performance.now() + waitMs
    while (opening && performance.now() < untilMs) {
      await within(opening.promise, untilMs - performance.now())
    }
    return opening === null
  }
  const begin = (): (() => void) => {
    running += 1
    let isRunning = true
    return () => {
      if (!isRunning) return
      isRunning = false
      running -= 1
      if (running === 0) whenQuiet?.()
    }
  }
  return {
    async enter() {
      if (!(await isOpen())) throw heldTooLong()
      return begin()
    },
    async close(waits) {
      if (waits ? !(await isOpen()) : opening) return false
      opening = Promise.withResolvers()
      opensItself = setTimeout(open, closedMostMs).unref()
      const quiet = new Promise<void>((resolve) => {
        whenQuiet = resolve
      })
      if (running > 0) await within(quiet, endMs)
      whenQuiet = null
      if (running === 0) return true
      open()
      return false
    },
    open,
  }
}

/** Waits for a promise, or for a time. */
async function within(promise: Promise<void>, milliseconds: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds)
  })
  await Promise.race([promise, late])
  clearTimeout(timer)
}

/**
 * Lets each call with a token through the gate before its operation begins. Other calls change
 * nothing, and pages call the service themselves.
 */
export function holdAtGate(app: FastifyInstance, gate: CallGate): void {
  app.decorateRequest('leaveGate', null)
  app.addHook('preHandler', async (request, reply) => {
    if (!request.caller || request.routeOptions.config.holdsCalls) return
    request.leaveGate = await gate.enter()
    leaveWithoutAnswer(reply, request.leaveGate)
  })
  // The operation has ended; its answer is still to be sent.
  app.addHook('onSend', async ({ leaveGate }) => leaveGate?.())
}

/** An operation whose caller has gone may send no answer. */
function leaveWithoutAnswer({ raw }: FastifyReply, leave: () => void): void {
  raw.once('finish', leave)
}
