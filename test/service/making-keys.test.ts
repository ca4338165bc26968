import assert from 'node:assert/strict'
import childProcess from 'node:child_process'
import { syncBuiltinESMExports } from 'node:module'
import { mock, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { pino } from 'pino'
import { keyMakingJob, startJobs } from '../../src/service/background.ts'
import { openTestService, type TestService } from '../support/service.ts'

/** Nothing until they are there. */
const publishedKeys = async (service: TestService): Promise<object[]> => {
  const { json, status } = await service.call('GET', '//.well-known/jwks.json', { token: null })
  return status === 200 ? json.keys : []
}

test('of processes that start for the first time at once, one draws the RSA keys, and all have them', async () => {
  const first = await openTestService()
  const { database, dataDir } = first
  const services = [first, await openTestService({ database, dataDir })]
  const spawn = mock.method(childProcess, 'spawn')
  syncBuiltinESMExports()
  const log = pino({ level: 'silent' })
  const making = services.map(({ issuing: { hsm } }) =>
    startJobs([keyMakingJob(database, hsm)], log),
  )
  for (const service of services) {
    while ((await publishedKeys(service)).length === 0) await wait(100)
  }
  await Promise.all(making.map(({ stop }) => stop()))
  const drawn = spawn.mock.calls.filter((call) =>
    String(call.arguments[1]).endsWith('rsa-key-process.ts'),
  )
  spawn.mock.restore()
  syncBuiltinESMExports()
  assert.equal(drawn.length, 2)
  const [keys, others] = await Promise.all(services.map(publishedKeys))
  assert.equal(keys?.length, 4)
  assert.deepEqual(keys, others)
})
