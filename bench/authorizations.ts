/**
 * Measures authorizations of two processes on one PostgreSQL server: how many per second over many
 * cards without an amount, with one, with one and a chip, and with one under three limits; and the
 * answers to 1,000 concurrent wrong PINs on one card. `npm run bench -- authorizations`
 */
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import autocannon from 'autocannon'
import { type Card, composePanRequest, type ReadCard, readCards } from './network.ts'
import { type BenchService, headersFor, median, runBench, startBaseline } from './support.ts'

const secondsPerRun = 5
const connections = 32
const roundsEach = 3
const cardCount = 200
const burst = 1_000

/** The members of a request besides the card and the PIN: none, or those of a purchase. */
type Kind = 'plain' | 'purchase'

/** Limits that no card of a run reaches. */
const threeLimits = ['day', 'week', 'month'].map((period) => ({
  period,
  channel: null,
  maximumAmount: 1_000_000_000,
  maximumCount: 1_000_000,
}))

/** Sends right PINs over all cards, for a fixed time. */
async function measure(
  target: BenchService,
  cards: readonly ReadCard[],
  kind: Kind = 'plain',
): Promise<autocannon.Result> {
  const headers = await headersFor(target, target.sandbox.network)
  const bodies = cards.map((card) => composePanRequest(target, card))
  let asked = 0
  // All connections share one cycle of cards, since calls on one card wait for each other.
  const setupRequest = (request: autocannon.Request): autocannon.Request => {
    asked += 1
    const body = bodies[asked % bodies.length] ?? ''
    return { ...request, body: kind === 'plain' ? body : asPurchase(body) }
  }
  return autocannon({
    url: target.privateUrl,
    headers,
    requests: [{ method: 'POST', path: '/network/authorizations', setupRequest }],
    connections,
    duration: secondsPerRun,
  })
}

/** Adds the members of a purchase, each with an id of its own. */
function asPurchase(body: string): string {
  const purchase = {
    amount: 1234,
    currency: 'EUR',
    merchant: {
      id: '000000012345678',
      name: 'Corner Bakery',
      country: 'ESP',
      categoryCode: '5462',
    },
    networkTransactionId: randomBytes(7).toString('hex').toUpperCase(),
  }
  return `${body.slice(0, -1)},${JSON.stringify(purchase).slice(1)}`
}

/** Cryptograms of one round, for each card: more than a run can use. */
const cryptogramsEach = 60

/** Activates cards and gives them virtual chips. */
async function giveChips(target: BenchService, cards: readonly ReadCard[]): Promise<void> {
  const headers = await headersFor(target)
  const call = async (method: string, path: string, body: object) => {
    const url = `${target.base}${path}`
    const answer = await fetch(url, { method, headers, body: JSON.stringify(body) })
    if (!answer.ok) throw new Error(await answer.text())
  }
  for (const { publicToken } of cards) {
    await call('PUT', `/cards/${publicToken}/status`, { cardStatusCode: '00' })
    await call('POST', `/simulator/cards/${publicToken}/chip`, {})
  }
}

/** Makes purchases with a cryptogram each, which is valid once. */
async function makeChipPurchases(
  target: BenchService,
  cards: readonly ReadCard[],
): Promise<readonly string[]> {
  const headers = await headersFor(target)
  const money = JSON.stringify({ amount: 1234, currency: 'EUR' })
  const bodies: string[] = []
  for (let count = 0; count < cryptogramsEach; count += 1) {
    for (const card of cards) {
      const url = `${target.base}/simulator/cards/${card.publicToken}/chip/transactions`
      const made = await fetch(url, { method: 'POST', headers, body: money })
      if (!made.ok) throw new Error(await made.text())
      const { chip } = (await made.json()) as { chip: object }
      const purchase = asPurchase(composePanRequest(target, card))
      bodies.push(`${purchase.slice(0, -1)},"chip":${JSON.stringify(chip)}}`)
    }
  }
  return bodies
}

/** Sends purchases with a chip and a right PIN, each once, for a fixed time. */
async function measureChips(
  target: BenchService,
  bodies: readonly string[],
): Promise<autocannon.Result> {
  const headers = await headersFor(target, target.sandbox.network)
  let asked = 0
  const setupRequest = (request: autocannon.Request): autocannon.Request => {
    const body = bodies[asked]
    if (body === undefined) throw new Error('All cryptograms are used.')
    asked += 1
    return { ...request, body }
  }
  return autocannon({
    url: target.privateUrl,
    headers,
    requests: [{ method: 'POST', path: '/network/authorizations', setupRequest }],
    connections,
    duration: secondsPerRun,
    verifyBody: (body) => String(body).includes('"approved":true'),
  })
}

async function setLimits(target: BenchService, cards: readonly ReadCard[]): Promise<void> {
  const headers = await headersFor(target)
  for (const { publicToken } of cards) {
    const answer = await fetch(`${target.base}/cards/${publicToken}/controls`, {
      method: 'PUT',
      headers,
      body: JSON.stringify({ version: 0, limits: threeLimits }),
    })
    if (!answer.ok) throw new Error(await answer.text())
  }
}

/** Writes per second of the bare server, one statement each, on the same cards. */
async function measureBare(url: string, cards: readonly Card[]): Promise<number> {
  const requests = cards.map(({ publicToken }) => ({
    method: 'POST' as const,
    path: `/${publicToken}`,
  }))
  return (await autocannon({ url, requests, connections, duration: secondsPerRun })).requests
    .average
}

/** Sends concurrent wrong PINs for one card, alternating between the processes. */
async function attack(
  processes: readonly BenchService[],
  card: ReadCard,
): Promise<Record<string, number>> {
  const headers = await Promise.all(processes.map((each) => headersFor(each, each.sandbox.network)))
  const wrong = { ...card, pin: card.pin.slice(0, 3) + ((Number(card.pin[3]) + 1) % 10) }
  const answers = await Promise.all(
    Array.from({ length: burst }, async (_, index) => {
      const at = index % processes.length
      const target = processes[at]
      const given = headers[at]
      if (!target || !given) return 'nobody'
      const answer = await fetch(`${target.privateUrl}/network/authorizations`, {
        method: 'POST',
        headers: given,
        body: composePanRequest(target, wrong),
      })
      const { code, responseCode } = (await answer.json()) as Record<string, string>
      return `${answer.status} ${responseCode ?? code}`
    }),
  )
  return Object.fromEntries(
    [...new Set(answers)].map((name) => [name, answers.filter((each) => each === name).length]),
  )
}

const residentMegabytes = async ({ child }: BenchService): Promise<number> => {
  const status = await readFile(`/proc/${child.pid}/status`, 'utf8').catch(() => '')
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024)
}

async function report(
  processes: readonly [BenchService, BenchService],
  bareUrl: string,
): Promise<void> {
  const [first, second] = processes
  const cards = await readCards(first, cardCount)
  const limitedCards = await readCards(first, cardCount)
  await setLimits(first, limitedCards)
  const chipCards = await readCards(first, cardCount, { cardType: 'Physical' })
  await giveChips(first, chipCards)
  const rounds = []
  for (let round = 0; round < roundsEach; round += 1) {
    const chipPurchases = await makeChipPurchases(first, chipCards)
    rounds.push({
      bare: await measureBare(bareUrl, cards),
      own: await measure(first, cards),
      purchase: await measure(first, cards, 'purchase'),
      chip: await measureChips(first, chipPurchases),
      limited: await measure(first, limitedCards, 'purchase'),
    })
  }
  const ratio = median(rounds.map(({ bare, own }) => own.requests.average / bare))
  const both = await Promise.all([measure(first, cards), measure(second, cards)])
  const sum = both.reduce((total, { requests }) => total + requests.average, 0)
  const failed = [
    ...rounds.flatMap(({ own, purchase, chip, limited }) => [own, purchase, chip, limited]),
    ...both,
  ].reduce((total, each) => total + each.non2xx + each.errors, 0)
  const perSecond = median(rounds.map(({ own }) => own.requests.average))
  const p99 = median(rounds.map(({ own }) => own.latency.p99))
  console.log(`one process: ${perSecond}/s, p99 ${p99} ms, ${ratio.toFixed(2)} of the bare write`)
  const chips = rounds.map(({ chip, purchase }) => {
    const each = chip.requests.average
    return { each, toPurchase: each / purchase.requests.average, wrong: chip.mismatches }
  })
  console.log(
    `with an amount and a chip: ${Math.round(median(chips.map(({ each }) => each)))}/s,`,
    `${median(chips.map(({ toPurchase }) => toPurchase)).toFixed(2)} of those with an amount;`,
    `not approved: ${chips.reduce((total, { wrong }) => total + wrong, 0)}`,
  )
  for (const kind of ['purchase', 'limited'] as const) {
    const each = median(rounds.map((round) => round[kind].requests.average))
    const toPlain = rounds.map((round) => round[kind].requests.average / round.own.requests.average)
    const name = kind === 'purchase' ? 'with an amount' : 'under three limits'
    console.log(`${name}: ${each}/s, ${median(toPlain).toFixed(2)} of those without`)
  }
  console.log(
    `two processes: ${Math.round(sum)}/s, p99 ${both[0].latency.p99} ms; failed: ${failed}`,
  )
  const [victim] = cards
  if (!victim) return
  const since = performance.now()
  const outcome = await attack(processes, victim)
  console.log(`${burst} wrong PINs at once: ${Math.round(performance.now() - since)} ms`, outcome)
  const deadlocks = processes.filter(({ log }) => log().includes('40P01')).length
  const memory = await Promise.all(processes.map(residentMegabytes))
  console.log(`memory: ${memory.join(' and ')} MB; logs with a deadlock: ${deadlocks}`)
}

await runBench(async (bench) => {
  const processes = [await bench.startService(), await bench.startService()] as const
  await report(processes, await startBaseline(bench))
})
