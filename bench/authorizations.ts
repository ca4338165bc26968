/**
 * Authorizations of two processes on one PostgreSQL server: how many a second over many cards, and
 * what becomes of 1,000 wrong PINs at once on one card. `node bench/authorizations.ts`
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import autocannon from 'autocannon'
import { encipherPinBlock } from '../src/crypto/pin-block.ts'
import type { SandboxFile } from '../src/sandbox/sandbox-file.ts'
import type { Credentials } from '../src/sandbox/seed.ts'
import { openPostgres } from '../test/support/postgres.ts'

const secondsPerRun = 5
const connections = 32
const cardCount = 200
const burst = 1_000

interface Process {
  readonly child: ChildProcess
  readonly privateUrl: string
  readonly sandbox: SandboxFile
  readonly log: () => string
}

interface Card {
  readonly publicToken: string
  readonly pin: string
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('No port is free.')
  return address.port
}

async function start(databaseUrl: string, dataDir: string): Promise<Process> {
  const [port, privatePort] = [await freePort(), await freePort()]
  const child = spawn(
    process.execPath,
    [fileURLToPath(new URL('../src/main.ts', import.meta.url))],
    {
      env: {
        PATH: process.env.PATH,
        DATABASE_URL: databaseUrl,
        SANDBOX: 'true',
        DATA_DIR: dataDir,
        PORT: String(port),
        PRIVATE_PORT: String(privatePort),
        RATE_LIMIT: 'off',
        LOG_LEVEL: 'warn',
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  let log = ''
  for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
    log += chunk
    if (log.includes('Pinfold is ready')) break
  }
  child.stdout.on('data', (chunk) => {
    log += chunk
  })
  const sandbox: SandboxFile = JSON.parse(await readFile(join(dataDir, 'sandbox.json'), 'utf8'))
  return { child, privateUrl: `http://127.0.0.1:${privatePort}`, sandbox, log: () => log }
}

async function headersFor({ sandbox }: Process, { clientId, clientSecret }: Credentials) {
  const answer = await fetch(sandbox.tokenEndpoint, {
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

async function createCards(process: Process): Promise<Card[]> {
  const headers = await headersFor(process, process.sandbox)
  const base = `${process.sandbox.baseUrl}/thr/processor`
  const cards: Card[] = []
  while (cards.length < cardCount) {
    const made = await fetch(`${base}/cards`, { method: 'POST', headers, body: newCard })
    const { publicToken } = (await made.json()) as Card
    const told = await fetch(`${base}/card-pin/${publicToken}/pin`, { headers })
    cards.push({ publicToken, pin: ((await told.json()) as Card).pin })
  }
  return cards
}

/** The question of a terminal, with a block that is bound to no PAN. */
function question({ sandbox }: Process, { publicToken, pin }: Card): string {
  const zoneKey = sandbox.network.zoneKeys.find(({ key }) => key === 'zone-a')
  const key = Buffer.from(zoneKey?.value ?? '', 'hex')
  const data = encipherPinBlock(pin, { format: 1, pan: '', key }).toString('hex')
  const pinBlock = { format: 'ISO_FORMAT_1', key: 'zone-a', data }
  return JSON.stringify({ publicToken, entryMode: 'chip', reference: 'BENCH', pinBlock })
}

/** Right PINs over all cards, for a while. */
async function measure(target: Process, cards: readonly Card[]): Promise<autocannon.Result> {
  const headers = await headersFor(target, target.sandbox.network)
  const bodies = cards.map((card) => question(target, card))
  let asked = 0
  // One card after the other, whichever connection asks: on one card they wait for each other.
  const setupRequest = (request: autocannon.Request): autocannon.Request => {
    asked += 1
    return { ...request, body: bodies[asked % bodies.length] ?? '' }
  }
  return autocannon({
    url: target.privateUrl,
    headers,
    requests: [{ method: 'POST', path: '/network/authorizations', setupRequest }],
    connections,
    duration: secondsPerRun,
  })
}

/** Wrong PINs on one card, all at once, in turn to each process. */
async function attack(processes: readonly Process[], card: Card): Promise<Record<string, number>> {
  const headers = await Promise.all(processes.map((each) => headersFor(each, each.sandbox.network)))
  const wrong = { ...card, pin: card.pin.slice(0, 3) + ((Number(card.pin[3]) + 1) % 10) }
  const answers = await Promise.all(
    Array.from({ length: burst }, async (_, index) => {
      const at = index % processes.length
      const [target, given] = [processes[at], headers[at]]
      if (!target || !given) return 'nobody'
      const answer = await fetch(`${target.privateUrl}/network/authorizations`, {
        method: 'POST',
        headers: given,
        body: question(target, wrong),
      })
      const { code, responseCode } = (await answer.json()) as Record<string, string>
      return `${answer.status} ${responseCode ?? code}`
    }),
  )
  return Object.fromEntries(
    [...new Set(answers)].map((name) => [name, answers.filter((each) => each === name).length]),
  )
}

const residentMegabytes = async ({ child }: Process): Promise<number> => {
  const status = await readFile(`/proc/${child.pid}/status`, 'utf8').catch(() => '')
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024)
}

async function report(processes: readonly [Process, Process]): Promise<void> {
  const [first, second] = processes
  const cards = await createCards(first)
  const alone = await measure(first, cards)
  const both = await Promise.all([measure(first, cards), measure(second, cards)])
  const sum = both.reduce((total, { requests }) => total + requests.average, 0)
  const failed = [alone, ...both].reduce((total, each) => total + each.non2xx + each.errors, 0)
  console.log(`one process: ${alone.requests.average}/s, p99 ${alone.latency.p99} ms`)
  console.log(
    `two processes: ${Math.round(sum)}/s, p99 ${both[0].latency.p99} ms; failed: ${failed}`,
  )
  const [victim] = cards
  if (!victim) return
  const since = performance.now()
  const told = await attack(processes, victim)
  console.log(`${burst} wrong PINs at once: ${Math.round(performance.now() - since)} ms`, told)
  const deadlocks = processes.filter(({ log }) => log().includes('40P01')).length
  const memory = await Promise.all(processes.map(residentMegabytes))
  console.log(`memory: ${memory.join(' and ')} MB; logs with a deadlock: ${deadlocks}`)
}

const postgres = await openPostgres()
if (postgres.leftOut) throw new Error(postgres.leftOut)
const dataDir = await mkdtemp(join(tmpdir(), 'pinfold-bench-'))
const database = await postgres.createDatabase()
const started: Process[] = []
try {
  const first = await start(database.url, dataDir)
  started.push(first)
  const second = await start(database.url, dataDir)
  started.push(second)
  await report([first, second])
} finally {
  for (const { child } of started) {
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  }
  await database.close()
  await postgres.stop()
  await rm(dataDir, { recursive: true, force: true })
}
