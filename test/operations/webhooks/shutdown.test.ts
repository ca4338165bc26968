import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startProgram } from '../../support/process.ts'
import { openLiveReader } from './live-reader.ts'
import { produceEvents } from './producer.ts'
import { openReceiver, until } from './receiver.ts'

test('on SIGTERM streams end, requests on their way are cut, and the program exits within 5 s', async () => {
  const program = await startProgram({ env: { RATE_LIMIT: 'off', LOG_LEVEL: 'warn' } })
  const token = await program.token()
  const silent = await openReceiver(() => undefined)
  const body = { url: silent.url, events: ['*'] }
  await program.call('POST', '/webhooks', { token, body })
  const port = Number(new URL(program.baseUrl).port)
  const reader = await openLiveReader(port, { token, host: `127.0.0.1:${port}` })
  assert.equal(reader.status, 200)
  await produceEvents(() => program, { cards: 2, perCard: 2 })
  await until(() => silent.received.length === 2 && reader.ids.length === 4)
  const startedMs = performance.now()
  const { code } = await program.kill('SIGTERM')
  assert.equal(code, 0)
  assert.ok(performance.now() - startedMs < 5_000)
  await until(reader.hasEnded)
})

test('after a kill an embedded service delivers at once: nobody else can hold what it held', async () => {
  const env = { RATE_LIMIT: 'off', LOG_LEVEL: 'warn' }
  const program = await startProgram({ env })
  const receiver = await openReceiver(() => undefined)
  const body = { url: receiver.url, events: ['*'] }
  await program.call('POST', '/webhooks', { token: await program.token(), body })
  await produceEvents(() => program, { cards: 1, perCard: 1 })
  await until(() => receiver.received.length === 1)
  await program.kill('SIGKILL')
  receiver.answer = () => 204
  await startProgram({ env, dataDir: program.dataDir })
  const startedMs = performance.now()
  await until(() => receiver.received.length === 2)
  assert.ok(performance.now() - startedMs < 2_000)
  assert.equal(receiver.received[0]?.id, receiver.received[1]?.id)
})
