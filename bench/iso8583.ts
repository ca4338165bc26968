/**
 * Measures purchases with a PIN over ISO 8583, on one link and on eight, beside the JSON route with
 * an Idempotency-Key in the same run. `npm run bench -- iso8583`
 */
import { once } from 'node:events'
import { connect } from 'node:net'
import autocannon from 'autocannon'
import { composeFrame, createFrameReader } from '../src/listeners/iso8583/codec/frame.ts'
import type { IsoMessage } from '../src/listeners/iso8583/codec/layout.ts'
import { decode, encode } from '../src/listeners/iso8583/codec/message.ts'
import { loadProfiles } from '../src/listeners/iso8583/profile.ts'
import type { Profile } from '../src/listeners/iso8583/profile-schema.ts'
import { makePinBlock } from '../test/reference/pin-blocks.ts'
import { type ReadCard, readCards } from './network.ts'
import { type BenchService, freePorts, headersFor, runBench } from './support.ts'

const secondsPerRun = 8
const inFlight = 32
const cardCount = 200

interface Measured {
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  readonly failed: number
}

const findZoneKey = ({ sandbox }: BenchService): Buffer =>
  Buffer.from(sandbox.network.zoneKeys.find(({ key }) => key === 'zone-a')?.value ?? '', 'hex')

const createBlock = (service: BenchService, { pan, pin }: ReadCard): string =>
  makePinBlock(pin, { format: 0, pan, key: findZoneKey(service) })
    .toString('hex')
    .toUpperCase()

let traces = 0

/** Sends purchases on one link with a constant number in flight, for a fixed time. */
async function sell(
  service: BenchService,
  { port, profile }: { readonly port: number; readonly profile: Profile },
  cards: readonly ReadCard[],
  { atOnce, untilMs }: { readonly atOnce: number; readonly untilMs: number },
): Promise<{ readonly tookMs: number[]; readonly failed: number }> {
  const socket = connect({ port, host: '127.0.0.1' })
  await once(socket, 'connect')
  socket.setNoDelay(true)
  const { framing, layout } = profile
  const reader = createFrameReader(framing)
  const sent = new Map<string, number>()
  const tookMs: number[] = []
  let failed = 0
  const done = Promise.withResolvers<void>()
  const blocks = cards.map((card) => ({ card, block: createBlock(service, card) }))
  const send = (mti: string, fields: Record<string, string>) => {
    traces += 1
    const trace = String(traces % 1_000_000).padStart(6, '0')
    sent.set(trace, performance.now())
    const instant = `1122${String(100_000 + Math.floor(traces / 1_000_000)).slice(-6)}`
    const message = encode(layout, { mti, fields: { 7: instant, 11: trace, ...fields } })
    socket.write(composeFrame(framing, message))
  }
  const purchase = () => {
    const { block = '', card } = blocks[traces % blocks.length] ?? {}
    if (!card) return
    send('0200', {
      2: card.pan,
      3: '000000',
      4: '000000001000',
      14: card.expiry.slice(2).replace('-', ''),
      18: '5411',
      22: '051',
      32: '123456',
      37: `R${traces}`.padEnd(12, '0'),
      41: 'TERM0001',
      42: 'MERCHANT0000001',
      49: '978',
      52: block,
      53: '2001010100000000',
    })
  }
  const take = ({ fields, mti }: IsoMessage) => {
    const trace = fields['11'] ?? ''
    const at = sent.get(trace) ?? 0
    sent.delete(trace)
    if (mti === '0810') {
      for (let begun = 0; begun < atOnce; begun += 1) purchase()
      return
    }
    if (fields['39'] === '00') tookMs.push(performance.now() - at)
    else failed += 1
    if (performance.now() < untilMs) purchase()
    else if (sent.size === 0) done.resolve()
  }
  socket.on('data', (bytes) => {
    for (const { message } of reader.push(bytes)) take(decode(layout, message))
  })
  send('0800', { 70: '001' })
  await done.promise
  socket.destroy()
  return { tookMs, failed }
}

async function measureLinks(
  service: BenchService,
  links: readonly { readonly port: number; readonly profile: Profile }[],
  cards: readonly ReadCard[],
): Promise<Measured> {
  const since = performance.now()
  const untilMs = since + secondsPerRun * 1_000
  const sold = await Promise.all(
    links.map((link) => sell(service, link, cards, { atOnce: inFlight / links.length, untilMs })),
  )
  const took = sold.flatMap(({ tookMs }) => tookMs).sort((left, right) => left - right)
  const quantile = (share: number) => took[Math.floor(took.length * share)] ?? 0
  return {
    perSecond: took.length / ((performance.now() - since) / 1_000),
    p50: quantile(0.5),
    p99: quantile(0.99),
    failed: sold.reduce((sum, { failed }) => sum + failed, 0),
  }
}

/** Sends the same purchases as JSON, each with its own key. */
async function measureJson(service: BenchService, cards: readonly ReadCard[]): Promise<Measured> {
  const headers = await headersFor(service, service.sandbox.network)
  const bodies = cards.map((card) =>
    JSON.stringify({
      pan: card.pan,
      expiryDate: card.expiry,
      entryMode: 'chip',
      reference: 'BENCH',
      amount: 1_000,
      currency: 'EUR',
      merchant: { id: 'MERCHANT0000001', terminalId: 'TERM0001', categoryCode: '5411' },
      pinBlock: { format: 'ISO_FORMAT_0', key: 'zone-a', data: createBlock(service, card) },
    }),
  )
  let asked = 0
  const setupRequest = (request: autocannon.Request): autocannon.Request => {
    asked += 1
    const body = bodies[asked % bodies.length] ?? ''
    return {
      ...request,
      body,
      headers: { ...headers, 'idempotency-key': `bench-${traces}-${asked}` },
    }
  }
  traces += 1
  const { errors, latency, non2xx, requests } = await autocannon({
    url: service.privateUrl,
    requests: [{ method: 'POST', path: '/network/authorizations', setupRequest }],
    connections: inFlight,
    duration: secondsPerRun,
  })
  return {
    perSecond: requests.average,
    p50: latency.p50,
    p99: latency.p99,
    failed: errors + non2xx,
  }
}

async function openLinks(service: BenchService, count: number) {
  const headers = await headersFor(service, service.sandbox.admin)
  const profile = (await loadProfiles(null)).get('sandbox')
  if (!profile) throw new Error('There is no profile for the sandbox.')
  const links = []
  for (const port of await freePorts(count)) {
    const body = JSON.stringify({
      linkName: `bench-${port}`,
      networkId: service.sandbox.network.clientId,
      port,
      direction: 'listen',
      host: '127.0.0.1',
      profile: 'sandbox',
    })
    const answer = await fetch(`${service.privateUrl}/links`, { method: 'POST', headers, body })
    if (answer.status !== 201) throw new Error(`No link was made: ${await answer.text()}`)
    links.push({ port, profile })
  }
  // Each process polls every two seconds.
  await new Promise((resolve) => setTimeout(resolve, 3_000))
  return links
}

const show = (name: string, { failed, p50, p99, perSecond }: Measured): void =>
  console.log(
    `${name.padEnd(12)} ${perSecond.toFixed(0).padStart(5)}/s, p50 ${p50.toFixed(1)} ms, p99 ` +
      `${p99.toFixed(1)} ms, failed ${failed}`,
  )

await runBench(async (bench) => {
  const service = await bench.startService({ LINK_PORT: '0' })
  const cards = await readCards(service, cardCount)
  const links = await openLinks(service, 8)
  // Warms up the compiler.
  await measureLinks(service, links.slice(0, 1), cards)
  await measureJson(service, cards)
  const ratios: number[] = []
  for (let round = 0; round < 3; round += 1) {
    const json = await measureJson(service, cards)
    const one = await measureLinks(service, links.slice(0, 1), cards)
    const eight = await measureLinks(service, links, cards)
    show('JSON', json)
    show('one link', one)
    show('eight links', eight)
    ratios.push(one.perSecond / json.perSecond, eight.perSecond / json.perSecond)
  }
  const least = Math.min(...ratios)
  const most = Math.max(...ratios)
  console.log(`links beside JSON: ${least.toFixed(2)} to ${most.toFixed(2)} times`)
})
