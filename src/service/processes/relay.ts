import type { Worker } from 'node:cluster'
import type { FromPrimary, PeerRequest, PeerRequests } from './peers.ts'

/** How long an unresponsive process is waited for. */
const answersTimeoutMs = 2_000

/** A forwarded request with the answers so far. */
interface OpenRequest {
  readonly waitedFor: Set<Worker>
  readonly contents: unknown[]
  close(): void
}

/** Forwards the requests of one process to all others and returns their answers. */
export interface Relay {
  forward(from: Worker, request: PeerRequest): Promise<void>
  answer(from: Worker, id: number, content: unknown): void
  /** Removes an ended process from the open requests. */
  ended(worker: Worker): void
}

/**
 * @param others the processes that can be asked, without the sender.
 * @param own the primary process's own answer.
 */
export function createRelay(
  others: (from: Worker) => readonly Worker[],
  own: Partial<Record<keyof PeerRequests, () => Promise<unknown>>>,
): Relay {
  const open = new Map<number, OpenRequest>()
  let requestCount = 0
  const settle = ({ close, waitedFor }: OpenRequest, worker: Worker) => {
    waitedFor.delete(worker)
    if (waitedFor.size === 0) close()
  }
  return {
    async forward(from, { about, content, id }) {
      requestCount += 1
      const ownId = requestCount
      const waitedFor = new Set(others(from))
      const contents: unknown[] = []
      const { promise, resolve: close } = Promise.withResolvers<void>()
      open.set(ownId, { waitedFor, contents, close })
      for (const worker of waitedFor) sendTo(worker, { kind: 'request', id: ownId, about, content })
      const timer = setTimeout(close, answersTimeoutMs)
      if (waitedFor.size === 0) close()
      await promise
      clearTimeout(timer)
      open.delete(ownId)
      const ownAnswer = await own[about]?.()
      if (ownAnswer !== undefined) contents.push(ownAnswer)
      sendTo(from, { kind: 'answers', id, contents })
    },
    answer(from, id, content) {
      const request = open.get(id)
      if (!request) return
      if (content !== undefined && content !== null) request.contents.push(content)
      settle(request, from)
    },
    ended(worker) {
      for (const request of open.values()) settle(request, worker)
    },
  }
}

/** A process that has just ended accepts no message; its end is reported separately. */
export function sendTo(worker: Worker, message: FromPrimary): void {
  if (worker.isConnected()) worker.send(message, () => undefined)
}
