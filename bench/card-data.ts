/**
 * Reveals of each form of Get Card Data per second that a core works for the service, beside what the
 * form's private-key operations alone cost: `npm run bench:card-data`. The time is that of the
 * processor, not of the wall, so that others on the machine do not count; the database, a PostgreSQL
 * server, and the caller are not in it.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import autocannon from 'autocannon'
import { fetchKeys, requestCardData, type ServiceKeys } from '../sdk/device/device.ts'
import type { SandboxFile } from '../src/sandbox/sandbox-file.ts'
import { openPostgres } from '../test/support/postgres.ts'

const secondsPerRun = 5
const rounds = 3
const connections = 16
/** Calls go round these many cards: on a single one they would only wait for each other. */
const cardCount = 64

const forms = ['deviceKey', 'sessionKey'] as const
type Form = (typeof forms)[number]
type Figures = Readonly<Record<Form, number>>

const fileOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('No port is free.')
  return address.port
}

/** A service with its keys made. */
async function startService(databaseUrl: string, dataDir: string) {
  const [port, privatePort] = [await freePort(), await freePort()]
  const child = spawn(process.execPath, [fileOf('../src/main.ts')], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      ...process.env,
      DATABASE_URL: databaseUrl,
      SANDBOX: 'true',
      DATA_DIR: dataDir,
      PORT: String(port),
      PRIVATE_PORT: String(privatePort),
      RATE_LIMIT: 'off',
      LOG_LEVEL: 'warn',
    },
  })
  const keys = await untilKeys(`http://127.0.0.1:${port}`)
  const sandbox: SandboxFile = JSON.parse(await readFile(join(dataDir, 'sandbox.json'), 'utf8'))
  return { child, keys, sandbox }
}

async function untilKeys(baseUrl: string): Promise<ServiceKeys> {
  for (let attempt = 0; attempt < 600; attempt += 1) {
    const keys = await fetchKeys(baseUrl).catch(() => null)
    if (keys) return keys
    await wait(200)
  }
  throw new Error('No keys were made within two minutes.')
}

async function authorize({ clientId, clientSecret, tokenEndpoint }: SandboxFile) {
  const answer = await fetch(tokenEndpoint, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${clientId}:${clientSecret}`)}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  })
  const { access_token: token } = (await answer.json()) as { access_token: string }
  return { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
}

const newCard = JSON.stringify({
  cardType: 'Virtual',
  cardProduct: 1001,
  cardHolder: { firstName: 'Ana', lastName: 'Lim', dateOfBirth: '1990-01-02' },
  address: { addressLine1: 'Calle Mayor 1', postCode: '28013', country: 'ESP' },
})

async function createCards(base: string, headers: Record<string, string>): Promise<string[]> {
  const cards = Array.from({ length: cardCount }, async () => {
    const answer = await fetch(`${base}/cards`, { method: 'POST', headers, body: newCard })
    return ((await answer.json()) as { publicToken: string }).publicToken
  })
  return Promise.all(cards)
}

/** Seconds that cores have worked for a process so far (proc(5), in ticks of a hundredth). */
async function processorSeconds({ pid }: ChildProcess): Promise<number> {
  const [, fields = ''] = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')
  const [user, system] = fields.split(' ').slice(11, 13).map(Number)
  return ((user ?? 0) + (system ?? 0)) / 100
}

/** Reveals per second of a core. @throws Error when any is answered with something else than 200. */
async function measure(
  service: ChildProcess,
  base: string,
  headers: Record<string, string>,
  requests: readonly { readonly path: string; readonly body: string }[],
): Promise<number> {
  const before = await processorSeconds(service)
  const result = await autocannon({
    url: base,
    headers,
    requests: requests.map((request) => ({ method: 'POST' as const, ...request })),
    connections,
    duration: secondsPerRun,
  })
  if (result.non2xx > 0 || result.errors > 0) throw new Error(`${result.non2xx} were not 200.`)
  return result['2xx'] / ((await processorSeconds(service)) - before)
}

const measureBare = (): Figures =>
  JSON.parse(execFileSync(process.execPath, [fileOf('card-data-bare.ts')]).toString())

const median = (figures: readonly number[]): number =>
  figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)] ?? 0

async function measureForms(databaseUrl: string, dataDir: string, children: ChildProcess[]) {
  const { child, keys, sandbox } = await startService(databaseUrl, dataDir)
  children.push(child)
  const headers = await authorize(sandbox)
  const base = `${sandbox.baseUrl}/thr/${sandbox.processorPath}`
  const cards = await createCards(base, headers)
  const requestsOf = (form: Form) =>
    Promise.all(
      cards.map(async (publicToken) => {
        const { body } = await requestCardData(keys, publicToken, { form })
        const path = new URL(`${base}/cards/${publicToken}/encrypted`).pathname
        return { path, body: JSON.stringify(body) }
      }),
    )
  for (const form of forms) {
    const requests = await requestsOf(form)
    const runs: { reveals: number; bare: number }[] = []
    for (let round = 0; round < rounds; round += 1) {
      const reveals = await measure(child, base, headers, requests)
      runs.push({ reveals, bare: measureBare()[form] })
    }
    const reveals = median(runs.map((run) => run.reveals))
    const bare = median(runs.map((run) => run.bare))
    const ratio = median(runs.map((run) => run.reveals / run.bare))
    console.log(`| ${form} | ${reveals.toFixed(0)} | ${bare.toFixed(0)} | ${ratio.toFixed(2)} |`)
  }
}

async function main(): Promise<void> {
  const postgres = await openPostgres()
  const { close, url } = await postgres.createDatabase()
  const dataDir = await mkdtemp(join(tmpdir(), 'pinfold-bench-'))
  const children: ChildProcess[] = []
  console.log('| form | reveals per second of a core | bare operations alone | ratio |')
  console.log('|---|---:|---:|---:|')
  try {
    await measureForms(url, dataDir, children)
  } finally {
    for (const child of children) {
      child.kill('SIGTERM')
      await once(child, 'exit')
    }
    await close()
    await rm(dataDir, { recursive: true, force: true })
  }
}

await main()
process.exit(0)
