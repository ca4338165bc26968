/**
 * A client that calls the most expensive operations slightly above its limits until it is stopped.
 * Prints the number of answers of each kind at the end.
 */
import { setTimeout as wait } from 'node:timers/promises'

const [, , base = '', token = '', publicToken = ''] = process.argv
const callsPerSecond = 220
const burst = 400
/** The maximum number of calls in work or waiting. */
const openCallsMax = 432
const headers = { authorization: `Bearer ${token}` }

const deepPosition = ['2025-01-01T02:00:00.000000Z', '1000000000']
const deepCursor = Buffer.from(JSON.stringify(deepPosition)).toString('base64url')

/** Filters without matches, deep pages, long pages, and rare types of events. */
const paths: readonly string[] = [
  '/cards?cardStatusCode=83',
  '/cards?cardStatusCode=54',
  '/cards?customerReference=nobody&cardStatusCode=41',
  '/cards?customerReference=C-1&cardStatusCode=62',
  '/cards',
  `/cards?cursor=${deepCursor}`,
  '/events?types=pin.blocked,cvv.blocked',
  '/events',
  `/cards/${publicToken}/attempts`,
  `/card-pin/${publicToken}/pin/status`,
]

const answers: Record<string, number> = {}
let stopped = false
process.on('SIGTERM', () => {
  stopped = true
})

async function call(path: string): Promise<void> {
  const answer = await fetch(`${base}${path}`, { headers }).catch(() => null)
  await answer?.arrayBuffer().catch(() => undefined)
  const status = answer?.status ?? 'broken'
  answers[status] = (answers[status] ?? 0) + 1
}

const startedMs = performance.now()
const running = new Set<Promise<void>>()
for (let sent = 0; !stopped; ) {
  const due = burst + ((performance.now() - startedMs) / 1_000) * callsPerSecond
  for (; sent < due && running.size < openCallsMax; sent += 1) {
    const calling = call(paths[sent % paths.length] ?? '').finally(() => running.delete(calling))
    running.add(calling)
  }
  await wait(5)
}
await Promise.all(running)
process.stdout.write(`${JSON.stringify(answers)}\n`)
