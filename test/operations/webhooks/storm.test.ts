/**
 * Delivery by programs: two side by side, and some that are killed. Small in the suite; `npm test
 * -- --suite storm` runs it at its full size.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openPostgres } from '../../support/postgres.ts'
import {
  makeMigratedFolder,
  openServerFolder,
  type Program,
  startProgram,
} from '../../support/process.ts'
import { until } from '../../support/until.ts'
import {
  baseUrl,
  type FeedEvent,
  insist,
  produceEvents,
  readFeed,
  tokenOf,
} from './client-system.ts'
import { isSignedWith, type Journal, openJournal, openReceiver, type Receiver } from './receiver.ts'

/** What two processes deliver while nothing fails. */
const calm = {
  cards: Number(process.env.STORM_CARDS ?? 10),
  perCard: Number(process.env.STORM_EVENTS_PER_CARD ?? 8),
}
const calmTotal = calm.cards * calm.perCard
const endpoints = 4

/** What is delivered under failures. */
const cards = Number(process.env.STORM_CARDS ?? 16)
const perCard = Number(process.env.STORM_EVENTS_PER_CARD ?? 4)
const serverKills = Number(process.env.STORM_SERVER_KILLS ?? 1)
const receiverKills = Number(process.env.STORM_RECEIVER_KILLS ?? 1)
const total = cards * perCard
/** How long what failed a few times running is waited for before it is asked for. */
const patienceMs = total > 1_000 ? 8_000 : 1_500

const postgres = await openPostgres()
const common = {
  BASE_URL: baseUrl,
  RATE_LIMIT: 'off',
  DELIVERY_TIMEOUT_MS: '30000',
  LOG_LEVEL: process.env.STORM_LOG ?? 'silent',
}

test('two processes on PostgreSQL', { skip: postgres.leftOut }, async (t) => {
  const { dataDir, env: server } = await openServerFolder(postgres)
  const env = { ...server, ...common }
  const start = () => startProgram({ env, dataDir })
  const both = await Promise.all([start(), start()])
  let last: FeedEvent | undefined
  await t.test(
    'deliver every event to every endpoint once, in order, when nothing fails',
    async () => {
      last = (await deliverAll(both)).at(-1)
    },
  )
  await t.test(
    'a receiver that fails and dies and one of them that is killed lose, forge and reorder nothing',
    () => storm(both, start, last),
  )
})

test('on PGlite, failing receivers and a killed server lose and reorder no event', async () => {
  const dataDir = await makeMigratedFolder()
  const start = () => startProgram({ dataDir, env: common })
  await storm([await start()], start)
})

/** Has events made at both and delivered while nothing fails. @returns what the feed told. */
async function deliverAll(both: readonly [Program, Program]): Promise<FeedEvent[]> {
  const [one, two] = both
  const token = await tokenOf(one)
  const journals: Journal[] = []
  const webhookIds: string[] = []
  for (let endpoint = 0; endpoint < endpoints; endpoint += 1) {
    const journal = openJournal()
    const receiver = await openReceiver((received) => {
      journal.note(received, true)
      return 204
    })
    journals.push(journal)
    const body = { url: receiver.url, events: ['*'] }
    webhookIds.push((await one.call('POST', '/webhooks', { token, body })).json.webhookId)
  }
  const startedMs = performance.now()
  let turn = 0
  await produceEvents(() => (turn++ % 2 === 0 ? one : two), calm)
  const producedSeconds = (performance.now() - startedMs) / 1_000
  const feed = await readFeed(two, calmTotal)
  await until(() => journals.every((journal) => journal.acceptedCount() === calmTotal), 600_000)
  const seconds = (performance.now() - startedMs) / 1_000
  for (const journal of journals) {
    assert.deepEqual(journal.check(feed), { received: calmTotal, accepted: calmTotal, again: 0 })
  }
  console.log(
    `${calmTotal} events to ${endpoints} endpoints, none twice: made in ${producedSeconds.toFixed(1)} s, ` +
      `delivered in ${seconds.toFixed(1)} s`,
  )
  const drained = await Promise.all(both.map(deliveredBy))
  console.log(`deliveries by each process: ${drained.join(' and ')}`)
  for (const id of webhookIds) await one.call('DELETE', `/webhooks/${id}`, { token })
  return feed
}

async function deliveredBy({ privateUrl }: { privateUrl: string }): Promise<number> {
  const text = await (await fetch(`${privateUrl}/metrics`)).text()
  return Number(/^pinfold_delivery_lag_seconds_count (\d+)$/m.exec(text)?.[1] ?? 0)
}

/**
 * Delivers while a receiver fails and dies, and while servers are killed: others that run go on, or
 * one that is started.
 */
async function storm(
  servers: readonly [Program, ...Program[]],
  start: () => Promise<Program>,
  begin?: FeedEvent,
): Promise<void> {
  const living = [...servers]
  let program = servers[0]
  const journal = openJournal()
  let secret = ''
  let forged = 0
  const answer: Receiver['answer'] = (received) => {
    if (!isSignedWith(secret, received)) forged += 1
    const isAccepted = Math.random() >= 0.3
    journal.note(received, isAccepted)
    return isAccepted ? 204 : 500
  }
  let receiver = await openReceiver(answer)
  const token = await tokenOf(program)
  const made = await program.call('POST', '/webhooks', {
    token,
    body: { url: receiver.url, events: ['*'] },
  })
  secret = made.json.secret

  const since = new Date().toISOString()
  const startedMs = performance.now()
  const producing = produceEvents(() => program, { cards, perCard })
  const replaceServer = async () => {
    const killed = living.shift()
    program = living[0] ?? program
    await killed?.kill('SIGKILL')
    if (living.length > 0) return
    program = await start()
    living.push(program)
  }
  const restartReceiver = async () => {
    await receiver.close()
    await new Promise((resolve) => setTimeout(resolve, 500))
    receiver = await openReceiver(answer, receiver.port)
  }
  await breakAlongTheWay(journal.acceptedCount, [
    ...Array.from({ length: serverKills }, () => replaceServer),
    ...Array.from({ length: receiverKills }, () => restartReceiver),
  ])
  await producing
  const feed = await readFeed(program, total, begin)
  const madeSeconds = Math.round((performance.now() - startedMs) / 1_000)
  // Of ten thousand some fail ten times running, and then wait for minutes: those are asked for.
  while (journal.acceptedCount() < total) {
    await until(() => journal.acceptedCount() === total, patienceMs).catch(() => undefined)
    await insist(() => program, token, `/webhooks/${made.json.webhookId}/replay`, {
      since,
    })
  }
  const seconds = Math.round((performance.now() - startedMs) / 1_000)
  const { accepted, again, received } = journal.check(feed)
  assert.equal(feed.length, total)
  assert.equal(forged, 0)
  console.log(
    `${total} events made in ${madeSeconds} s, delivered in ${seconds} s: ${received} requests, ${accepted} accepted, ` +
      `${again} of them again (${((100 * again) / total).toFixed(2)} %)`,
  )
  await Promise.all(living.map((each) => each.kill('SIGTERM')))
}

/** Breaks one thing after the other, spread over the time that deliveries take. */
async function breakAlongTheWay(
  accepted: () => number,
  breaks: readonly (() => Promise<void>)[],
): Promise<void> {
  for (const [index, breakOne] of breaks.entries()) {
    const due = Math.floor((total * (index + 1)) / (breaks.length + 2))
    await until(() => accepted() >= due, 600_000)
    await breakOne()
  }
}
