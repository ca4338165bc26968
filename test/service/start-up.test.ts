import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFile, stat, watch, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { produceEvents } from '../operations/webhooks/client-system.ts'
import { openReceiver, type Receiver } from '../operations/webhooks/receiver.ts'
import { isNightly } from '../support/cases.ts'
import { openPostgres } from '../support/postgres.ts'
import { makeFolder, type Program, spawnProgram, startProgram } from '../support/process.ts'
import { until } from '../support/until.ts'
import { proveAllAreThere, streamUntilKilled } from './acknowledged.ts'

const postgres = await openPostgres()

const isReady = async ({ privateUrl }: Program): Promise<boolean> =>
  (await fetch(`${privateUrl}/readyz`)).ok

const common = { RATE_LIMIT: 'off', DELIVERY_TIMEOUT_MS: '30000' }

test('a data directory outlives whatever becomes of the programs on it', async (t) => {
  const dataDir = await makeFolder()
  const start = () => startProgram({ dataDir, env: common })
  const killed = await spawnProgram({ dataDir, env: common })
  for await (const { filename } of watch(dataDir)) if (filename?.startsWith('pgdata.new')) break
  await killed.kill('SIGKILL')
  const first = await start()
  await t.test(
    'a start that is killed while it makes its database does not harm the next',
    async () => assert.ok(await isReady(first)),
  )
  await t.test('sandbox.json tells its owner alone all that an integrator needs', () =>
    provesSandboxFile(first),
  )
  await t.test('a second program says who holds it and leaves; the first goes on', () =>
    refusesSecond(first),
  )
  const token = await first.token()
  await t.test('SIGINT stops a program as SIGTERM does', async () => {
    assert.deepEqual(await first.kill('SIGINT'), { code: 0, signal: null })
  })
  await t.test('another master key is refused, and nothing of it told', () =>
    refusesMasterKey(dataDir),
  )
  const second = await start()
  await t.test('the second start is ready with the secrets and keys of the first', () =>
    provesSame(first, second, token),
  )
  const receiver = await leaveDelivery(second)
  await second.kill('SIGKILL')
  let program = second
  await t.test('neither kill -9 nor a pid that is in use again keeps it held', async () => {
    const other = await takeOverPid(dataDir)
    receiver.answer = () => 204
    program = await start()
    other.kill('SIGKILL')
  })
  await t.test(
    'after kill -9 undelivered events are delivered at once: no other process can hold them',
    () => provesDelivery(receiver),
  )
  for (const killAfter of isNightly ? [7, 40] : [20]) {
    await t.test(killTitle, async () => {
      const acknowledged = await streamUntilKilled(program, killAfter)
      program = await start()
      await proveAllAreThere(program, acknowledged)
    })
  }
  assert.equal((await program.kill('SIGTERM')).code, 0)
})

const killTitle = 'after kill -9 every card and PIN that was acknowledged is there and can be read'

const provesSandboxFile = async ({ baseUrl, dataDir, privateUrl, sandbox }: Program) => {
  const file = join(dataDir, 'sandbox.json')
  assert.equal((await stat(file)).mode & 0o777, 0o600)
  assert.equal((await stat(join(dataDir, 'master.key'))).mode & 0o777, 0o600)
  assert.deepEqual(Object.keys(sandbox).sort(), [
    'admin',
    'baseUrl',
    'clientId',
    'clientSecret',
    'link',
    'network',
    'otherClient',
    'people',
    'privateUrl',
    'processorPath',
    'scope',
    'tokenEndpoint',
  ])
  assert.deepEqual(
    [sandbox.baseUrl, sandbox.privateUrl, sandbox.processorPath, sandbox.tokenEndpoint],
    [baseUrl, privateUrl, 'processor', `${baseUrl}/oauth/token`],
  )
  for (const { clientId, clientSecret, scope } of [
    sandbox,
    sandbox.otherClient,
    sandbox.network,
    sandbox.admin,
  ]) {
    assert.ok(clientId && scope)
    assert.ok(clientSecret.length >= 43)
  }
  assert.deepEqual(
    sandbox.network.zoneKeys.map(({ algorithm, key, value }) => [key, algorithm, value.length]),
    [
      ['zone-a', 'TDES', 32],
      ['zone-b', 'AES', 64],
    ],
  )
}

const refusesSecond = async (first: Program): Promise<void> => {
  const second = await spawnProgram({ dataDir: first.dataDir })
  assert.equal((await second.ended).code, 1)
  const said = second.stderr()
  for (const part of [first.dataDir, `pid ${first.pid}`, first.privateUrl]) {
    assert.ok(said.includes(part), said)
  }
  assert.ok(await isReady(first))
  const file = JSON.parse(await readFile(join(first.dataDir, 'sandbox.json'), 'utf8'))
  assert.equal(file.baseUrl, first.baseUrl)
}

const refusesMasterKey = async (dataDir: string): Promise<void> => {
  const keyFile = join(await makeFolder(), 'other.key')
  await writeFile(keyFile, randomBytes(32).toString('hex'))
  const refused = await spawnProgram({ dataDir, env: { MASTER_KEY_FILE: keyFile } })
  assert.equal((await refused.ended).code, 1)
  assert.match(refused.stderr(), /master key/)
  assert.ok(!refused.stderr().includes(await readFile(keyFile, 'utf8')))
}

const provesSame = async (first: Program, second: Program, token: string): Promise<void> => {
  assert.ok(await isReady(second))
  const { baseUrl: _, people, privateUrl: __, tokenEndpoint: ___, ...kept } = second.sandbox
  assert.partialDeepStrictEqual(first.sandbox, kept)
  // The links of people are the same but for where they lead.
  const linksOf = (signIns: typeof people) =>
    signIns.map(({ name, signInUrl }) => [name, new URL(signInUrl).search])
  assert.deepEqual(linksOf(people), linksOf(first.sandbox.people))
  assert.equal((await second.call('GET', '/products', { token: await second.token() })).status, 200)
  // Issued by another base URL, so it is meant for another service.
  assert.equal((await second.call('GET', '/products', { token })).status, 401)
}

/** Leaves an event on its way to an endpoint that does not answer. */
const leaveDelivery = async (program: Program): Promise<Receiver> => {
  const receiver = await openReceiver(() => undefined)
  const body = { url: receiver.url, events: ['*'] }
  await program.call('POST', '/webhooks', { token: await program.token(), body })
  await produceEvents(() => program, { cards: 1, perCard: 1 })
  await until(() => receiver.received.length === 1)
  return receiver
}

const provesDelivery = async ({ received }: Receiver): Promise<void> => {
  const startedMs = performance.now()
  await until(() => received.length === 2)
  // The lease of the process that was killed is longer: 35 s.
  assert.ok(performance.now() - startedMs < 20_000)
  assert.equal(received[0]?.id, received[1]?.id)
}

/** As if the pid of the program that is gone had been given to another one. */
const takeOverPid = async (dataDir: string): Promise<ChildProcess> => {
  const other = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
  await once(other, 'spawn')
  const holder = join(dataDir, 'holder.json')
  const written = JSON.parse(await readFile(holder, 'utf8'))
  await writeFile(holder, JSON.stringify({ ...written, pid: other.pid }))
  return other
}

suite('on a PostgreSQL server', { skip: postgres.leftOut }, () => {
  test('programs of one database are one service', async (t) => {
    const { close, url } = await postgres.createDatabase()
    t.after(close)
    const keyFile = join(await makeFolder(), 'master.key')
    await writeFile(keyFile, randomBytes(32).toString('hex'))
    const env = { ...common, DATABASE_URL: url, SANDBOX: 'true' }
    const programs = await Promise.all(
      [1, 2, 3].map(async () =>
        startProgram({ dataDir: await makeFolder(), env: { ...env, MASTER_KEY_FILE: keyFile } }),
      ),
    )
    await t.test('those that start at once, and new, all get ready, with the same secrets', () =>
      provesOneService(programs),
    )
    await t.test('one with another master key is refused, and the others go on', async () => {
      const other = await spawnProgram({ dataDir: await makeFolder(), env })
      assert.equal((await other.ended).code, 1)
      assert.match(other.stderr(), /master key with check value/)
      for (const program of programs) assert.ok(await isReady(program))
    })
    const [survivor, ...victims] = programs
    assert.ok(survivor)
    for (const victim of victims) {
      await t.test(killTitle, async () => {
        const acknowledged = await streamUntilKilled(victim, 20)
        await proveAllAreThere(survivor, acknowledged)
      })
    }
    assert.equal((await survivor.kill('SIGTERM')).code, 0)
  })
})

const provesOneService = async (programs: readonly Program[]): Promise<void> => {
  const [first] = programs
  assert.ok(first)
  const token = await first.token()
  for (const program of programs) {
    assert.ok(await isReady(program))
    assert.equal(program.sandbox.clientSecret, first.sandbox.clientSecret)
  }
  assert.equal((await first.call('GET', '/products', { token })).status, 200)
}
