/**
 * Measures how a client with a million cards that calls the most expensive operations at its limits
 * affects another client and a card network: `npm run bench -- noisy-neighbour`, faster with `--
 * --cards 20000`. It fails if the others are refused, or wait 100 ms longer than without that
 * client.
 */
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type pg from 'pg'
import { makePinBlock } from '../test/reference/pin-blocks.ts'
import { fillCards } from './fill-cards.ts'
import { type Bench, type BenchService, createCards, headersFor, runBench } from './support.ts'

const { values: options } = parseArgs({
  options: {
    cards: { type: 'string', default: '1000000' },
    seconds: { type: 'string', default: '20' },
  },
})
const callsPerSecond = 20
const allowedMs = 100

interface Figures {
  readonly timesMs: number[]
  readonly answers: Record<string, number>
}

/** Sends calls at a constant rate, independent of the answers. */
async function measure(call: () => Promise<Response>): Promise<Figures> {
  const figures: Figures = { timesMs: [], answers: {} }
  const calls: Promise<void>[] = []
  const startedMs = performance.now()
  for (let sent = 0; sent < Number(options.seconds) * callsPerSecond; sent += 1) {
    await wait(Math.max(0, startedMs + (sent * 1_000) / callsPerSecond - performance.now()))
    calls.push(timed(call, figures))
  }
  await Promise.all(calls)
  return figures
}

async function timed(call: () => Promise<Response>, figures: Figures): Promise<void> {
  const fromMs = performance.now()
  const answer = await call().catch(() => null)
  await answer?.arrayBuffer()
  figures.timesMs.push(performance.now() - fromMs)
  const status = answer?.status ?? 'broken'
  figures.answers[status] = (figures.answers[status] ?? 0) + 1
}

const percentile = ({ timesMs }: Figures, share: number): number =>
  timesMs.toSorted((a, b) => a - b)[Math.ceil(timesMs.length * share) - 1] ?? 0

const ticksPerSecond = 100

/** Processor time in seconds of a process and its ended children. */
async function processorSeconds(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  // The name, in parentheses, may contain spaces. Then: state, parent, …; 11 to 14 are the times.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / ticksPerSecond
}

const readParent = async (pid: number): Promise<number> => {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8')
  return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1])
}

/** Processor time of the database server's processes. */
async function databaseSeconds(database: pg.Client): Promise<number> {
  const { rows } = await database.query<{ pid: number }>('select pid from pg_stat_activity')
  const [first] = rows
  const pids = [...rows.map(({ pid }) => pid), ...(first ? [await readParent(first.pid)] : [])]
  const seconds = await Promise.all(pids.map(processorSeconds))
  return seconds.reduce((sum, each) => sum + each, 0)
}

/** The other callers, with and without the noise. */
interface OtherTenants {
  client(): Promise<Response>
  network(): Promise<Response>
}

async function createOtherTenants(service: BenchService): Promise<OtherTenants> {
  const { base, privateUrl, sandbox } = service
  const headers = await headersFor(service, sandbox.otherClient)
  const order = { cardProduct: 2001 }
  const [publicToken = ''] = await createCards(base, headers, 1, order)
  const revealed = await fetch(`${base}/card-pin/${publicToken}/pin`, { headers })
  const { pin } = (await revealed.json()) as { pin: string }
  const zoneKey = sandbox.network.zoneKeys.find(({ key }) => key === 'zone-a')?.value ?? ''
  const key = Buffer.from(zoneKey, 'hex')
  const block = makePinBlock(pin, { format: 1, pan: '', key }).toString('hex')
  const body = JSON.stringify({
    publicToken,
    entryMode: 'chip',
    reference: 'BENCH',
    pinBlock: { format: 'ISO_FORMAT_1', key: 'zone-a', data: block },
  })
  const networkHeaders = await headersFor(service, sandbox.network)
  return {
    client: () => fetch(`${base}/card-pin/${publicToken}/pin/status`, { headers }),
    network: () =>
      fetch(`${privateUrl}/network/authorizations`, {
        method: 'POST',
        headers: networkHeaders,
        body,
      }),
  }
}

async function measureBoth({ client, network }: OtherTenants) {
  const [ofClient, ofNetwork] = await Promise.all([measure(client), measure(network)])
  return { client: ofClient, network: ofNetwork }
}

/** Starts the noisy client. @returns a function that stops it and returns its answers. */
async function makeNoise(bench: Bench, service: BenchService, publicToken: string) {
  const { authorization = '' } = await headersFor(service)
  const token = authorization.replace('Bearer ', '')
  const noisy = bench.startProgram('noisy-client.ts', [service.base, token, publicToken])
  let printed = ''
  noisy.stdout?.on('data', (chunk) => {
    printed += chunk
  })
  return {
    pid: noisy.pid ?? 0,
    async stop(): Promise<string> {
      noisy.kill('SIGTERM')
      await once(noisy, 'close')
      return printed.trim()
    },
  }
}

const composeRow = (who: string, when: string, figures: Figures) => ({
  who,
  when,
  calls: figures.timesMs.length,
  answers: JSON.stringify(figures.answers),
  'p50 ms': percentile(figures, 0.5).toFixed(1),
  'p99 ms': percentile(figures, 0.99).toFixed(1),
})

function listFaults(who: string, quiet: Figures, noisy: Figures): string[] {
  const others = Object.keys(noisy.answers).filter((status) => status !== '200')
  const later = percentile(noisy, 0.99) - percentile(quiet, 0.99)
  return [
    ...(others.length > 0 ? [`${who} was answered ${others.join()}`] : []),
    ...(later > allowedMs ? [`${who} waited ${Math.round(later)} ms longer`] : []),
  ]
}

await runBench(async (bench) => {
  const service = await bench.startService({ RATE_LIMIT: 'on' })
  const database = await bench.connect()
  const fromMs = performance.now()
  const publicToken = await fillCards(bench, { count: Number(options.cards), sealed: 'all' })
  console.log(`${options.cards} cards in ${Math.round((performance.now() - fromMs) / 1_000)} s`)
  const neighbours = await createOtherTenants(service)
  await measure(neighbours.network)
  const quiet = await measureBoth(neighbours)
  const noise = await makeNoise(bench, service, publicToken)
  const clocks = async () => [
    performance.now() / 1_000,
    await processorSeconds(service.child.pid ?? 0),
    await databaseSeconds(database),
    await processorSeconds(noise.pid),
    process.cpuUsage().user / 1e6 + process.cpuUsage().system / 1e6,
  ]
  const before = await clocks()
  const noisy = await measureBoth(neighbours)
  const after = await clocks()
  console.log(`the noisy client was answered ${await noise.stop()}`)
  const [seconds = 1, server = 0, data = 0, noisyClient = 0, measurer = 0] = after.map(
    (value, at) => value - (before[at] ?? 0),
  )
  console.table([
    composeRow('another client', 'quiet', quiet.client),
    composeRow('another client', 'noisy', noisy.client),
    composeRow('card network', 'quiet', quiet.network),
    composeRow('card network', 'noisy', noisy.network),
  ])
  const share = (used: number) => `${(used / seconds).toFixed(2)} cores`
  console.table({
    service: share(server),
    'database server': share(data),
    'noisy client': share(noisyClient),
    'who measures': share(measurer),
  })
  const faults = [
    ...listFaults('another client', quiet.client, noisy.client),
    ...listFaults('the card network', quiet.network, noisy.network),
  ]
  if (faults.length > 0) throw new Error(faults.join('; '))
})
