import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startKeyKeeping } from '../../src/service/key-keeping.ts'
import { createLog } from '../../src/service/log.ts'
import { openTestService, sql } from '../support/service.ts'
import { subjectOf } from './in-process.ts'
import { openLoad, requestsMin } from './mixed-load.ts'
import { countUnder, panReader, rotateAll, untilMoved } from './rotating.ts'

test('every key rotates under hundreds of requests: none fails, no card is unreadable, nothing stays behind', async (t) => {
  const env = { KEY_REFRESH_MS: '100', RATE_LIMIT: 'off' }
  const service = await openTestService({ env })
  const keeping = startKeyKeeping(service.keys, createLog('silent'))
  t.after(() => keeping.stop())
  const { administer, send, zoneKey } = subjectOf(service)
  const panOf = await panReader(service.database, service.dataDir)
  const load = await openLoad({ send, panOf, zoneKey, workers: 8, cardsEach: 10 })

  const url = 'http://127.0.0.1:9/hook'
  const hook = { url, events: ['pin.blocked'], description: 'To nobody.' }
  const webhook = (await service.call('POST', '/webhooks', { body: hook })).json
  assert.equal((await countUnder(service.database, 1)).at(-1), 1)

  let isMoved = false
  const loading = load.run(() => isMoved, requestsMin)
  const rotating = rotateAll(administer, service.dataDir)
    .then(() => untilMoved(administer, 2, 60_000))
    .finally(() => {
      isMoved = true
    })
  const [figures] = await Promise.all([loading, rotating])

  t.diagnostic(JSON.stringify(figures))
  assert.ok(figures.requests >= requestsMin)
  assert.ok((await load.check()) >= 80)
  assert.deepEqual(await countUnder(service.database, 1), [0, 0, 0, 0, 0, 0])
  const told = await service.call('GET', `/webhooks/${webhook.webhookId}`)
  assert.equal(told.json.description, 'To nobody.')
  const [pans] = await sql<{ cards: number; pans: number }>(
    service.database,
    `select (select count(*)::int from card) as cards,
       (select count(*)::int from pan_fingerprint where key_version = 2) as pans`,
  )
  assert.equal(pans?.pans, pans?.cards)
})
