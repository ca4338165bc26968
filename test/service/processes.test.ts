import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { availableParallelism } from 'node:os'
import { after, before, suite, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { parseConfig } from '../../src/service/config/config.ts'
import { openPostgres } from '../support/postgres.ts'
import {
  askToken,
  openServerFolder,
  type Program,
  type ProgramOptions,
  type StartedProgram,
  spawnProgram,
  startProgram,
} from '../support/process.ts'
import { newCard } from '../support/service.ts'
import { until } from '../support/until.ts'

const postgres = await openPostgres()

/** Each call on a connection of its own, so that any process may get it. */
const apart = { connection: 'close' }

/** The process id of each process that said that it is ready, the newest last. */
const readyPids = ({ stdout }: StartedProgram, number: number): number[] =>
  [...stdout().matchAll(/^\{.*"a process is ready"\}$/gm)]
    .map(([line]) => JSON.parse(line) as { process: number; pid: number })
    .filter((line) => line.process === number)
    .map(({ pid }) => pid)

const isThere = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

const readMetrics = async ({ privateUrl }: Program): Promise<string> =>
  (await fetch(`${privateUrl}/metrics`, { headers: apart })).text()

/** The values of a metric, by process. */
const valuesOf = (metrics: string, name: string): Record<string, number> =>
  Object.fromEntries(
    [...metrics.matchAll(new RegExp(`^${name}\\{(?:.*,)?process="(\\d)"\\} (\\S+)$`, 'gm'))].map(
      ([, number = '', value]) => [number, Number(value)],
    ),
  )

const figureOf = (metrics: string, name: string): number =>
  Number(metrics.match(new RegExp(`^${name} (\\S+)$`, 'm'))?.[1])

/** Starts it and asks all the while whether it is ready. */
const startUntilReady = async (options: ProgramOptions): Promise<StartedProgram> => {
  const program = await spawnProgram(options)
  const answers = new Set<number>()
  while (!answers.has(200)) {
    const answer = await fetch(`${program.privateUrl}/readyz`, { headers: apart }).catch(() => null)
    if (answer) answers.add(answer.status)
    await wait(10)
  }
  // What it printed before it answered may come a little later.
  await until(() => [1, 2].every((number) => readyPids(program, number).length === 1))
  assert.deepEqual([...answers], [503, 200])
  return program
}

suite('on a PostgreSQL server', { skip: postgres.leftOut }, () => {
  let program: Program
  let options: ProgramOptions
  const burst = 400
  before(async () => {
    const folder = await openServerFolder(postgres)
    options = {
      ...folder,
      env: {
        ...folder.env,
        PROCESSES: '2',
        RATE_PER_SECOND: '1',
        RATE_BURST: String(burst),
      },
    }
    program = await startProgram(options)
  })
  after(() => program.kill('SIGKILL'))

  test('one command starts several processes, which say once that they are ready', async () => {
    assert.equal(program.stdout().match(/Pinfold is ready/g)?.length, 1)
    assert.match(program.stdout(), /Processes {9}2\n/)
    assert.equal((await fetch(`${program.privateUrl}/readyz`)).status, 200)
  })

  test('one scrape has the metrics of all, each sample with its process, and all have answered', async () => {
    // By chance all may go to one of two: once in 2 to the power of 40 times.
    for (let call = 0; call < 41; call += 1) {
      const answer = await fetch(`${program.privateUrl}/livez`, { headers: apart })
      assert.equal(answer.status, 200)
    }
    const metrics = await readMetrics(program)
    const route = 'pinfold_http_request_duration_seconds_count\\{[^}]*route="/livez"[^}]*'
    const answered = [...metrics.matchAll(new RegExp(`^${route}process="(\\d)"\\} (\\d+)$`, 'gm'))]
    const [first, second, ...none] = answered.map(([, , count]) => Number(count))
    assert.equal((first ?? 0) + (second ?? 0), 41, 'both have answered')
    assert.equal(none.length, 0)
    const memory = valuesOf(metrics, 'pinfold_process_resident_memory_bytes')
    assert.deepEqual(Object.keys(memory), ['1', '2'])
    for (const line of metrics.split('\n')) {
      const isOfAll = /^pinfold_process(?:es|_ends_total)\b/.test(line)
      assert.ok(/^(?:#|$)/.test(line) || isOfAll || line.includes('process="'), line)
    }
    assert.equal(figureOf(metrics, 'pinfold_processes\\{state="ready"\\}'), 2)
    assert.equal(metrics.match(/^# TYPE pinfold_http_request_duration_seconds /gm)?.length, 1)
  })

  test('a limit of calls holds over all of them', async () => {
    const { otherClient } = program.sandbox
    const token = await askToken({ ...program.sandbox, ...otherClient })
    const startedMs = performance.now()
    let allowed = 0
    const caller = async () => {
      for (let call = 0; call < burst / 4; call += 1) {
        const { status } = await program.call('GET', '/products', { token, headers: apart })
        assert.ok(status === 200 || status === 429, String(status))
        if (status === 200) allowed += 1
      }
    }
    // Twice what is allowed, so that each process is asked for all of it.
    await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map(caller))
    const refilled = (performance.now() - startedMs) / 1_000
    // At the end of the burst each lets through what it does not know of yet: on a busy machine for
    // a while.
    const most = burst + refilled + burst / 2
    assert.ok(allowed >= burst && allowed <= most, `${allowed} were allowed`)
  })

  test('the clock of the sandbox moves in all of them', async () => {
    const { admin } = program.sandbox
    const token = await askToken({ ...program.sandbox, ...admin })
    const headers = {
      ...apart,
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
    }
    const url = `${program.privateUrl}/sandbox/clock`
    const now = '2031-03-15T10:00:00.000Z'
    const moved = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ now }) })
    assert.equal(moved.status, 200, await moved.text())
    for (let call = 0; call < 10; call += 1) {
      const { now: read } = (await (await fetch(url, { headers })).json()) as { now: string }
      assert.ok(read >= now && read < '2031-03-15T11', read)
    }
  })

  test('the demo knows a visitor whichever of them it asks', async () => {
    const page = await fetch(`${program.baseUrl}/demo`, { headers: apart })
    assert.equal(page.status, 200)
    const cookie = page.headers.get('set-cookie')?.split(';')[0] ?? ''
    const ask = async (path: string): Promise<string> => {
      const headers = { ...apart, cookie, 'sec-fetch-site': 'same-origin' }
      const answer = await fetch(`${program.baseUrl}/demo/relay/${path}`, { headers })
      assert.equal(answer.status, 200, path)
      return answer.text()
    }
    await ask('products')
    for (let call = 0; call < 10; call += 1) assert.match(await ask('journal'), /\/products/)
  })

  test('kill -9 of one loses nothing that was acknowledged, and it comes back', async () => {
    const token = await program.token()
    const [victim = 0] = readyPids(program, 2)
    const acknowledged: string[] = []
    let acts = 0
    const worker = async () => {
      while (acts < 60) {
        acts += 1
        if (acts === 20) process.kill(victim, 'SIGKILL')
        const call = { token, body: newCard(), headers: apart }
        const answer = await program.call('POST', '/cards', call).catch(() => null)
        // Of one that was killed nothing is known; the others answer as they should.
        if (answer) assert.equal(answer.status, 201, answer.text)
        if (answer) acknowledged.push(answer.json.publicToken)
      }
    }
    await Promise.all([1, 2, 3, 4].map(worker))
    assert.ok(acknowledged.length > 40)
    await until(() => readyPids(program, 2).length === 2)
    for (const publicToken of acknowledged) {
      const card = await program.call('GET', `/cards/${publicToken}`, { token, headers: apart })
      assert.equal(card.status, 200, card.text)
    }
    const metrics = await readMetrics(program)
    assert.equal(figureOf(metrics, 'pinfold_process_ends_total'), 1)
    assert.equal(figureOf(metrics, 'pinfold_processes\\{state="ready"\\}'), 2)
    assert.match(program.stdout(), /"signal":"SIGKILL".*"a process ended and is restarted"/)
    assert.ok(!isThere(victim))
  })

  test('one that was started anew has the clock of the others', async () => {
    const token = await askToken({ ...program.sandbox, ...program.sandbox.admin })
    const headers = { ...apart, authorization: `Bearer ${token}` }
    for (let call = 0; call < 10; call += 1) {
      const answer = await fetch(`${program.privateUrl}/sandbox/clock`, { headers })
      assert.match(await answer.text(), /"2031-03-15T10/)
    }
  })

  test('SIGTERM stops all within 5 s with exit code 0, lets a request finish, and leaves no process behind', async () => {
    const pids = [1, 2].map((number) => readyPids(program, number).at(-1) ?? 0)
    const running = connect(Number(new URL(program.baseUrl).port), '127.0.0.1')
    const token = await program.token()
    const { host } = new URL(program.baseUrl)
    const body = JSON.stringify(newCard())
    running.write(
      `POST /thr/processor/cards HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${token}\r\n` +
        `Content-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n`,
    )
    const answer: Buffer[] = []
    running.on('data', (chunk: Buffer) => answer.push(chunk))
    await until(() => answer.length > 0)
    const ended = program.kill('SIGTERM')
    await wait(200)
    running.write(body)
    // A program that takes longer ends itself with exit code 1.
    assert.deepEqual(await ended, { code: 0, signal: null })
    assert.match(Buffer.concat(answer).toString(), /HTTP\/1\.1 201/)
    assert.deepEqual(pids.map(isThere), [false, false])
    running.destroy()
  })

  test('what keeps it from starting is said once: another master key, a port that is taken', async () => {
    const { DATABASE_URL = '' } = options.env ?? {}
    const env = { DATABASE_URL, SANDBOX: 'true', PROCESSES: '2' }
    const other = await spawnProgram({ env })
    assert.equal((await other.ended).code, 1)
    assert.equal(other.stderr().match(/master key with check value/g)?.length, 1, other.stderr())
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as AddressInfo
    const second = await spawnProgram({ ...options, env: { ...env, PORT: String(port) } })
    assert.equal((await second.ended).code, 1)
    assert.match(second.stderr(), /^Another program uses 127\.0\.0\.1:\d+ \(EADDRINUSE\).*\n$/)
    taken.close()
  })

  test('SIGTERM while they start stops those that were started', async () => {
    const starting = await spawnProgram(options)
    await until(() => readyPids(starting, 1).length === 1)
    const [first = 0] = readyPids(starting, 1)
    assert.deepEqual(await starting.kill('SIGTERM'), { code: 0, signal: null })
    assert.ok(!isThere(first))
    assert.ok(!starting.stdout().includes('Pinfold is ready'))
  })

  test('it is ready when all processes are, keeps its ports, and takes the others with it at kill -9', async () => {
    const again = await startUntilReady(options)
    const pids = [1, 2].map((number) => readyPids(again, number).at(-1) ?? 0)
    assert.deepEqual(pids.map(isThere), [true, true])
    const second = await spawnProgram({
      ...options,
      env: { ...options.env, PORT: new URL(again.baseUrl).port },
    })
    assert.equal((await second.ended).code, 1)
    assert.match(second.stderr(), /Another program uses|Another Pinfold server is starting on/)
    await again.kill('SIGKILL')
    await until(() => !pids.some(isThere))
  })
})

test('the embedded database has one process: more are refused in a sentence, auto is one', async () => {
  const faultsOf = (env: Record<string, string>) => parseConfig({ SANDBOX: 'true', ...env }).faults
  const server = { DATABASE_URL: 'postgres://127.0.0.1/pinfold' }
  assert.equal(parseConfig({ PROCESSES: 'auto' }).config.processes, 1)
  const { config, faults } = parseConfig({ ...server, SANDBOX: 'true', PROCESSES: 'auto' })
  assert.deepEqual([config.processes, faults], [availableParallelism(), []])
  for (const PROCESSES of ['0', '129', '-1', '2.5', 'all']) {
    assert.match(faultsOf({ ...server, PROCESSES }).join(), /PROCESSES must be a whole number/)
  }
  const seeded = { ...server, PROCESSES: '2', SANDBOX_SEED: 'same' }
  assert.match(faultsOf(seeded).join(), /^SANDBOX_SEED requires PROCESSES=1/)
  assert.deepEqual(faultsOf({ ...seeded, PROCESSES: '1' }), [])
  const refused = await spawnProgram({ env: { PROCESSES: '2' } })
  assert.equal((await refused.ended).code, 1)
  assert.match(refused.stderr(), /PROCESSES must be 1 or auto with the embedded database/)
})
