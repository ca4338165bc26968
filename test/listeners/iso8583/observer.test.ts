import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { linkObserver } from '../../../src/listeners/iso8583/observer.ts'

test('faults of a link are one line a minute for each reason, with their count, and all are counted', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const lines: Record<string, unknown>[] = []
  const log = pino({}, { write: (line: string) => lines.push(JSON.parse(line)) })
  const registry = new Registry()
  const observer = linkObserver(registry, log)
  const written = () =>
    lines.splice(0).map(({ link, reason, count, detail }) => [link, reason, count, detail])
  for (let sent = 0; sent < 1_000; sent += 1) observer.failed('one', 'message', `field ${sent}`)
  observer.failed('one', 'mac')
  observer.failed('two', 'message', 'field 4')
  assert.deepEqual(written(), [
    ['one', 'message', 1, 'field 0'],
    ['one', 'mac', 1, undefined],
    ['two', 'message', 1, 'field 4'],
  ])
  t.mock.timers.tick(60_000)
  assert.deepEqual(written(), [['one', 'message', 999, 'field 999']])
  observer.failed('one', 'message', 'field 7')
  assert.deepEqual(written(), [])
  t.mock.timers.tick(60_000)
  assert.deepEqual(written(), [['one', 'message', 1, 'field 7']])
  t.mock.timers.tick(120_000)
  observer.failed('one', 'message', 'field 8')
  assert.deepEqual(written(), [['one', 'message', 1, 'field 8']])
  const counted = (await registry.getSingleMetric('pinfold_link_failures_total')?.get())?.values
  assert.deepEqual(
    counted?.map(({ labels, value }) => [labels.link, labels.reason, value]),
    [
      ['one', 'message', 1_002],
      ['one', 'mac', 1],
      ['two', 'message', 1],
    ],
  )
})
