import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openPostgres } from '../../support/postgres.ts'
import { openServerFolder, startProgram } from '../../support/process.ts'
import { openJournal } from './journal.ts'
import { baseUrl, produceEvents, readFeed, tokenOf } from './producer.ts'
import { openReceiver, until } from './receiver.ts'

/**
 * Two processes on one database. Small in the suite; `npm run test:storm` runs it at its full size.
 */

const cards = Number(process.env.STORM_CARDS ?? 20)
const perCard = Number(process.env.STORM_EVENTS_PER_CARD ?? 10)
const total = cards * perCard
const endpoints = 4

const postgres = await openPostgres()

test('two processes deliver every event to every endpoint once, in order, when nothing fails', {
  skip: postgres.leftOut,
}, async () => {
  const { dataDir, env: server } = await openServerFolder(postgres)
  const env = {
    ...server,
    BASE_URL: baseUrl,
    RATE_LIMIT: 'off',
    LOG_LEVEL: 'silent',
  }
  const one = await startProgram({ env, dataDir })
  const two = await startProgram({ env, dataDir })
  const journals = await Promise.all(
    Array.from({ length: endpoints }, async () => {
      const journal = openJournal()
      const receiver = await openReceiver((received) => {
        journal.note(received, true)
        return 204
      })
      const body = { url: receiver.url, events: ['*'] }
      await one.call('POST', '/webhooks', { token: await tokenOf(one), body })
      return journal
    }),
  )
  const startedMs = performance.now()
  let turn = 0
  await produceEvents(() => (turn++ % 2 === 0 ? one : two), { cards, perCard })
  const producedSeconds = (performance.now() - startedMs) / 1_000
  const feed = await readFeed(two, total)
  await until(() => journals.every((journal) => journal.acceptedCount() === total), 600_000)
  const seconds = (performance.now() - startedMs) / 1_000
  for (const journal of journals) {
    assert.deepEqual(journal.check(feed), { received: total, accepted: total, again: 0 })
  }
  console.log(
    `${total} events to ${endpoints} endpoints, none twice: made in ${producedSeconds.toFixed(1)} s, ` +
      `delivered in ${seconds.toFixed(1)} s`,
  )
  const drained = await Promise.all([one, two].map(deliveredBy))
  console.log(`deliveries by each process: ${drained.join(' and ')}`)
  await Promise.all([one.kill('SIGTERM'), two.kill('SIGTERM')])
})

async function deliveredBy({ privateUrl }: { privateUrl: string }): Promise<number> {
  const text = await (await fetch(`${privateUrl}/metrics`)).text()
  return Number(/^pinfold_delivery_lag_seconds_count (\d+)$/m.exec(text)?.[1] ?? 0)
}
