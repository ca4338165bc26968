import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

/** Takes the types out of TypeScript, until it is closed. */
export interface Stripper {
  /** The JavaScript that is in each text: every type becomes blanks, every line stays where it is. */
  strip(texts: readonly string[]): Promise<string[]>
  close(): Promise<void>
}

/** In a worker: Node calls the function experimental, and would tell the operator so on every start. */
export function openStripper(): Stripper {
  const worker = new Worker(new URL('strip-worker.ts', import.meta.url), {
    execArgv: ['--disable-warning=ExperimentalWarning'],
  })
  return {
    async strip(texts) {
      const stripped = once(worker, 'message')
      worker.postMessage(texts)
      const [result] = await stripped
      return result
    },
    async close() {
      await worker.terminate()
    },
  }
}
