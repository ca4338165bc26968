import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFile, stat, watch, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { openPostgres } from '../support/postgres.ts'
import { makeFolder, type Program, spawnProgram, startProgram } from '../support/process.ts'

const postgres = await openPostgres()

const isReady = async ({ privateUrl }: Program): Promise<boolean> =>
  (await fetch(`${privateUrl}/readyz`)).ok

test('a start on an empty folder that is killed while it makes its database does not harm the next', async () => {
  const dataDir = await makeFolder()
  const killed = await spawnProgram({ dataDir })
  for await (const { filename } of watch(dataDir)) if (filename?.startsWith('pgdata.new')) break
  await killed.kill('SIGKILL')
  assert.ok(await isReady(await startProgram({ dataDir })))
})

test('the second start is ready with the secrets and keys of the first', async () => {
  const first = await startProgram()
  const token = await first.token()
  assert.equal((await first.kill('SIGTERM')).code, 0)
  const second = await startProgram({ dataDir: first.dataDir })
  assert.ok(await isReady(second))
  const { baseUrl: _, privateUrl: __, tokenEndpoint: ___, ...kept } = second.sandbox
  assert.partialDeepStrictEqual(first.sandbox, kept)
  assert.equal((await second.call('GET', '/products', { token: await second.token() })).status, 200)
  // Issued by another base URL, so it is meant for another service.
  assert.equal((await second.call('GET', '/products', { token })).status, 401)
})

test('sandbox.json tells its owner alone all that an integrator needs', async () => {
  const { baseUrl, dataDir, privateUrl, sandbox } = await startProgram()
  const file = join(dataDir, 'sandbox.json')
  assert.equal((await stat(file)).mode & 0o777, 0o600)
  assert.equal((await stat(join(dataDir, 'master.key'))).mode & 0o777, 0o600)
  assert.deepEqual(Object.keys(sandbox).sort(), [
    'admin',
    'baseUrl',
    'clientId',
    'clientSecret',
    'network',
    'otherClient',
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
})

test('a second program on a data directory says who holds it and leaves; the first goes on', async () => {
  const first = await startProgram()
  const second = await spawnProgram({ dataDir: first.dataDir })
  assert.equal((await second.ended).code, 1)
  const said = second.stderr()
  for (const part of [first.dataDir, `pid ${first.pid}`, first.privateUrl]) {
    assert.ok(said.includes(part), said)
  }
  assert.ok(await isReady(first))
  const file = JSON.parse(await readFile(join(first.dataDir, 'sandbox.json'), 'utf8'))
  assert.equal(file.baseUrl, first.baseUrl)
})

test('neither kill -9 nor a pid that is in use again keeps a data directory held', async () => {
  const first = await startProgram()
  await first.kill('SIGKILL')
  const other = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
  await once(other, 'spawn')
  // As if the pid of the program that is gone had been given to another one.
  const holder = join(first.dataDir, 'holder.json')
  const written = JSON.parse(await readFile(holder, 'utf8'))
  await writeFile(holder, JSON.stringify({ ...written, pid: other.pid }))
  assert.ok(await isReady(await startProgram({ dataDir: first.dataDir })))
  other.kill('SIGKILL')
})

test('a database is refused under another master key, and opens again under its own', async () => {
  const first = await startProgram()
  await first.kill('SIGTERM')
  const keyFile = join(await makeFolder(), 'other.key')
  await writeFile(keyFile, randomBytes(32).toString('hex'))
  const env = { MASTER_KEY_FILE: keyFile }
  const refused = await spawnProgram({ dataDir: first.dataDir, env })
  assert.equal((await refused.ended).code, 1)
  assert.match(refused.stderr(), /master key/)
  assert.ok(!refused.stderr().includes(await readFile(keyFile, 'utf8')))
  assert.ok(await isReady(await startProgram({ dataDir: first.dataDir })))
})

suite('on a PostgreSQL server', { skip: postgres.leftOut }, () => {
  test('programs that start at once on one new database all get ready, with the same secrets', async (t) => {
    const { close, url } = await postgres.createDatabase()
    t.after(close)
    const keyFile = join(await makeFolder(), 'master.key')
    await writeFile(keyFile, randomBytes(32).toString('hex'))
    const env = { DATABASE_URL: url, SANDBOX: 'true', MASTER_KEY_FILE: keyFile }
    const programs = await Promise.all(
      [1, 2, 3].map(async () => startProgram({ dataDir: await makeFolder(), env })),
    )
    const [first] = programs
    assert.ok(first)
    const token = await first.token()
    for (const program of programs) {
      assert.ok(await isReady(program))
      assert.equal(program.sandbox.clientSecret, first.sandbox.clientSecret)
    }
    assert.equal((await first.call('GET', '/products', { token })).status, 200)
    await Promise.all(programs.map((program) => program.kill('SIGTERM')))
  })

  test('a program with another master key is refused by a database that others use', async (t) => {
    const { close, url } = await postgres.createDatabase()
    t.after(close)
    const env = { DATABASE_URL: url, SANDBOX: 'true' }
    const first = await startProgram({ dataDir: await makeFolder(), env })
    const other = await spawnProgram({ dataDir: await makeFolder(), env })
    assert.equal((await other.ended).code, 1)
    assert.match(other.stderr(), /master key with check value/)
    assert.ok(await isReady(first))
    await first.kill('SIGTERM')
  })
})
