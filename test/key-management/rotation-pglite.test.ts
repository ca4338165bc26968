import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startKeyKeeping } from '../../src/service/key-keeping.ts'
import { createLog } from '../../src/service/log.ts'
import { openTestService, sql } from '../support/service.ts'
import { openLoad, type Send } from './mixed-load.ts'
import { type Administer, countUnder, panReader, rotateAll, untilMoved } from './rotating.ts'

test('every key rotates under 2,000 requests: none fails, no card is unreadable, nothing stays behind', async (t) => {
  const env = { KEY_REFRESH_MS: '100', RATE_LIMIT: 'off' }
  const service = await openTestService({ env })
  const keeping = startKeyKeeping(service.keys, createLog('silent'))
  t.after(() => keeping.stop())
  const send: Send = async (as, method, path, body, key) => {
    const listener = as === 'network' ? 'private' : 'public'
    const headers = key === undefined ? {} : { 'idempotency-key': key }
    const token = await service.token(undefined, as)
    const call = { as, token, listener, headers, ...(body && { body }) } as const
    const answer = await service.call(method, path, call)
    return { ...answer, header: (name) => String(answer.headers[name] ?? '') || null }
  }
  const administer: Administer = (method, path, body) =>
    service.call(method, path, { as: 'admin', listener: 'private', ...(body && { body }) })
  const zoneKey = Buffer.from(service.sandbox?.network.zoneKeys[0]?.value ?? '', 'hex')
  const panOf = await panReader(service.database, service.dataDir)
  const load = await openLoad({ send, panOf, zoneKey, workers: 8, cardsEach: 10 })

  let isMoved = false
  const loading = load.run(() => isMoved, 2_000)
  const rotating = rotateAll(administer, service.dataDir)
    .then(() => untilMoved(administer, 2, 60_000))
    .finally(() => {
      isMoved = true
    })
  const [figures] = await Promise.all([loading, rotating])

  t.diagnostic(JSON.stringify(figures))
  assert.ok(figures.requests >= 2_000)
  assert.ok((await load.check()) >= 80)
  assert.deepEqual(await countUnder(service.database, 1), [0, 0, 0, 0, 0])
  const [pans] = await sql<{ cards: number; pans: number }>(
    service.database,
    `select (select count(*)::int from card) as cards,
       (select count(*)::int from pan_fingerprint where key_version = 2) as pans`,
  )
  assert.equal(pans?.pans, pans?.cards)
})
