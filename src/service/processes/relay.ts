import type { Worker } from 'node:cluster'
import type { FromPrimary, Question, Questions } from './peers.ts'

/** How long a process that hangs is waited for. */
const answersTimeoutMs = 2_000

/** A question that was handed on, and what came back so far. */
interface OpenQuestion {
  readonly waitedFor: Set<Worker>
  readonly contents: unknown[]
  close(): void
}

/** Hands the questions of one process on to all others, and all of their answers back. */
export interface Relay {
  question(from: Worker, question: Question): Promise<void>
  answer(from: Worker, id: number, content: unknown): void
  /** Nothing more comes from a process that ended. */
  ended(worker: Worker): void
}

/**
 * @param others those that can be asked, but for the one that asks.
 * @param own what the primary process itself answers.
 */
export function createRelay(
  others: (from: Worker) => readonly Worker[],
  own: Partial<Record<keyof Questions, () => Promise<unknown>>>,
): Relay {
  const open = new Map<number, OpenQuestion>()
  let questions = 0
  const settle = ({ close, waitedFor }: OpenQuestion, worker: Worker) => {
    waitedFor.delete(worker)
    if (waitedFor.size === 0) close()
  }
  return {
    async question(from, { about, content, id }) {
      questions += 1
      const ownId = questions
      const waitedFor = new Set(others(from))
      const contents: unknown[] = []
      const { promise, resolve: close } = Promise.withResolvers<void>()
      open.set(ownId, { waitedFor, contents, close })
      for (const worker of waitedFor)
        sendTo(worker, { kind: 'question', id: ownId, about, content })
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
      const question = open.get(id)
      if (!question) return
      if (content !== undefined && content !== null) question.contents.push(content)
      settle(question, from)
    },
    ended(worker) {
      for (const question of open.values()) settle(question, worker)
    },
  }
}

/** One that has just ended takes nothing more, which its end says. */
export function sendTo(worker: Worker, message: FromPrimary): void {
  if (worker.isConnected()) worker.send(message, () => undefined)
}
