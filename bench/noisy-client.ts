/**
 * A client that calls as often as its limits let it, and a little more, with the calls that cost
 * most, until it is stopped. Tells how each was answered when it ends.
 */
import { setTimeout as wait } from 'node:timers/promises'

const [, , base = '', token = '', publicToken = ''] = process.argv
const callsPerSecond = 220
const burst = 400
/** As many as may be in work or wait. */
const openCallsMax = 432
const headers = { authorization: `Bearer ${token}` }

const deepPosition = ['2025-01-01T02:00:00.000000Z', '1000000000']
const deepCursor = Buffer.from(JSON.stringify(deepPosition)).toString('base64url')

/** Filters that nothing matches, deep pages, long pages, and the types of events that are rare. */
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
