import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMetrics } from '../../../src/listeners/http/metrics.ts'
import { createWatching } from '../../../src/listeners/private/watching.ts'
import { openTestService } from '../../support/service.ts'

test('a day of samples is kept and no more, the newest last', async (t) => {
  const { database, issuing } = await openTestService()
  const watching = createWatching({
    onClose: t.after.bind(t),
    cards: { database, now: () => new Date() },
    keys: { database },
    metrics: createMetrics(),
    links: { database, hsm: issuing.hsm, profiles: new Set(), tls: null, allowsPlain: true },
  })
  await watching.sample()
  const [first] = watching.samples()
  assert.deepEqual(first?.calls, { calls: 0, p50Ms: null, p95Ms: null, p99Ms: null })
  for (let minute = 0; minute < 24 * 60; minute += 1) await watching.sample()
  const kept = watching.samples()
  assert.equal(kept.length, 24 * 60)
  assert.ok(!kept.includes(first as (typeof kept)[number]))
  assert.ok(kept.every(({ at }, place) => place === 0 || at >= (kept[place - 1]?.at ?? '')))
})
