/**
 * Measures reveals of each form of Get Card Data per second of the service's processor time, beside
 * the form's private-key operations alone: `npm run bench -- card-data`. Processor time excludes
 * other load on the machine, the PostgreSQL server and the caller.
 */
import { type ChildProcess, execFileSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import autocannon from 'autocannon'
import { fetchKeys, requestCardData, type ServiceKeys } from '../packages/sdk/device/device.ts'
import { type Bench, createCards, headersFor, median, runBench } from './support.ts'

const secondsPerRun = 5
const rounds = 3
const connections = 16
/** The number of cards that calls cycle through: on a single one they would wait for each other. */
const cardCount = 64

const forms = ['deviceKey', 'sessionKey'] as const
type Form = (typeof forms)[number]
type Figures = Readonly<Record<Form, number>>

async function untilKeys(baseUrl: string): Promise<ServiceKeys> {
  for (let attempt = 0; attempt < 600; attempt += 1) {
    const keys = await fetchKeys(baseUrl).catch(() => null)
    if (keys) return keys
    await wait(200)
  }
  throw new Error('No keys were made within two minutes.')
}

/** The processor time of a process so far in seconds (proc(5), in ticks of a hundredth). */
async function processorSeconds({ pid }: ChildProcess): Promise<number> {
  const [, fields = ''] = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')
  const [user, system] = fields.split(' ').slice(11, 13).map(Number)
  return ((user ?? 0) + (system ?? 0)) / 100
}

/**
 * Reveals per second of processor time.
 * @throws Error for an answer other than 200.
 */
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

const bareProgram = fileURLToPath(new URL('card-data-bare.ts', import.meta.url))

const measureBare = (): Figures =>
  JSON.parse(execFileSync(process.execPath, [bareProgram]).toString())

async function measureForms(bench: Bench): Promise<void> {
  const { base, child, sandbox } = await bench.startService()
  const keys = await untilKeys(sandbox.baseUrl)
  const headers = await headersFor({ sandbox })
  const cards = await createCards(base, headers, cardCount)
  const createRequests = (form: Form) =>
    Promise.all(
      cards.map(async (publicToken) => {
        const { body } = await requestCardData(keys, publicToken, { form })
        const path = new URL(`${base}/cards/${publicToken}/encrypted`).pathname
        return { path, body: JSON.stringify(body) }
      }),
    )
  for (const form of forms) {
    const requests = await createRequests(form)
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

console.log('| form | reveals per second of a core | bare operations alone | ratio |')
console.log('|---|---:|---:|---:|')
await runBench(measureForms)
process.exit(0)
