import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

/**
 * TypeScript as the JavaScript that is in it: every type becomes blanks, every line stays where it is.
 *
 * In a worker: Node calls the function experimental, and would tell the operator so on every start.
 */
export async function stripTypes(texts: readonly string[]): Promise<string[]> {
  const worker = new Worker(new URL('strip-worker.ts', import.meta.url), {
    execArgv: ['--disable-warning=ExperimentalWarning'],
  })
  try {
    const stripped = once(worker, 'message')
    worker.postMessage(texts)
    const [result] = await stripped
    return result
  } finally {
    await worker.terminate()
  }
}
