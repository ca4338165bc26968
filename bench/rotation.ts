import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keyJobs, startJobs } from '../src/service/background.ts'
import { createLog } from '../src/service/log.ts'
import { openLoad, type Send } from '../test/operations/keys/mixed-load.ts'
import {
  type Administer,
  administerOf,
  countUnder,
  openInstallation,
  panReader,
  rotateAll,
  sendToAny,
  subjectOf,
  untilReEncrypted,
} from '../test/operations/keys/rotating.ts'
import { openPostgres } from '../test/support/postgres.ts'
import { openTestService } from '../test/support/service.ts'

/**
 * Sends 20,000 requests while every key rotates with production's intervals, on the embedded
 * database and on two programs with a PostgreSQL server: `npm run bench -- rotation`. No request
 * may fail, and every card must be readable at all times.
 */

const requests = 20_000
const refreshMs = 1_000
const timeoutMs = 600_000

type Subject = {
  dataDir: string
  zoneKey: Buffer
  send: Send
  administer: Administer
  readPan: (publicToken: string) => Promise<string>
}

/** Rotates under load and prints the durations. */
const measure = async ({ administer, dataDir, readPan, send, zoneKey }: Subject) => {
  const load = await openLoad({ send, readPan, zoneKey, workers: 16, cardsEach: 25 })
  const from = performance.now()
  let isMoved = false
  const loading = load.run(() => isMoved, requests)
  const rotating = rotateAll(administer, dataDir)
    .then(() => untilReEncrypted(administer, 2, timeoutMs))
    .then(() => performance.now() - from)
    .finally(() => {
      isMoved = true
    })
  const [figures, rotatedMs] = await Promise.all([loading, rotating])
  const seconds = Math.round((performance.now() - from) / 1_000)
  const cardsRead = await load.check()
  return {
    ...figures,
    seconds,
    rotatedSeconds: Math.round(rotatedMs / 1_000),
    cardsRead,
    failed: 0,
  }
}

const postgres = await openPostgres()

test('the embedded database, called by inject', async (t) => {
  const env = { KEY_REFRESH_MS: String(refreshMs), RATE_LIMIT: 'off' }
  const service = await openTestService({ env })
  const keeping = startJobs(keyJobs(service.keys), createLog('silent'))
  t.after(() => keeping.stop())
  const figures = await measure({
    ...subjectOf(service),
    readPan: await panReader(service.database, service.dataDir),
  })
  t.diagnostic(JSON.stringify(figures))
  assert.deepEqual(await countUnder(service.database, 1), [0, 0, 0, 0, 0, 0])
})

test('two programs on a PostgreSQL server', { skip: postgres.leftOut }, async (t) => {
  const { database, dataDir, start } = await openInstallation(postgres, refreshMs)
  const programs = [await start(), await start()]
  const [first] = programs
  assert.ok(first)
  const readPan = await panReader(database, dataDir)
  const administer = administerOf(first)
  const figures = await measure({
    dataDir,
    zoneKey: Buffer.from(first.sandbox.network.zoneKeys[0]?.value ?? '', 'hex'),
    send: sendToAny(programs),
    administer,
    readPan,
  })
  t.diagnostic(JSON.stringify(figures))
  assert.deepEqual(await countUnder(database, 1), [0, 0, 0, 0, 0, 0])
})
