import { setTimeout as sleep } from 'node:timers/promises'
import Type, { type Static } from 'typebox'
import { findCurrency } from '../../domain/currencies.ts'
import { type Content, html } from '../../listeners/http/html.ts'
import { AuthorizationFiguresSchema } from '../../listeners/private/schemas/all-authorizations.ts'
import {
  LatencyFiguresSchema,
  QueueFiguresSchema,
} from '../../listeners/private/schemas/figures.ts'
import { lines, stackedBars } from '../charts.ts'
import { badge } from '../desk-parts.ts'
import type { Screen, Visit } from '../screen.ts'

/** The first screen: the service's health and recent answers. */
export const homeScreen: Screen = {
  path: '/console',
  access: 'anyone',
  navigation: 'Home',
  async show(visit) {
    const now = await health(visit)
    if (!visit.scopes.has('support.read')) {
      return { title: 'Home', body: html`<live-region id="now" every="15">${now}</live-region>` }
    }
    const [hours, queues, latency] = await Promise.all([
      soon(loadHourlyCounts(visit)),
      soon(visit.read('/figures/queues', QueueFiguresSchema)),
      soon(visit.read('/figures/latency', LatencyFiguresSchema)),
    ])
    const asked = hours && [sumCounts(hours, 'approved'), sumCounts(hours, 'declined')]
    const [approved, declined] = asked ?? ['–', '–']
    return {
      title: 'Home',
      body: html`<live-region id="now" every="15">
          ${now}
          <div class="tiles">
            <p class="tile"><b>${approved}</b>Approved in 24 hours</p>
            <p class="tile"><b>${declined}</b>Declined in 24 hours</p>
          </div>
        </live-region>
        <section aria-labelledby="answers">
          <h2 id="answers">Approvals and declines in 24 hours</h2>
          ${hours ? renderDeclines(hours) : missing}
        </section>
        <section aria-labelledby="amounts">
          <h2 id="amounts">Approved amounts in 24 hours</h2>
          ${hours ? amountChart(hours) : missing}
        </section>
        <div class="columns">
          <section aria-labelledby="latency">
            <h2 id="latency">Latency of calls</h2>
            ${latency ? latencyChart(latency) : missing}
          </section>
          <section aria-labelledby="queues">
            <h2 id="queues">Queues</h2>
            ${queues ? queueChart(queues) : missing}
          </section>
        </div>`,
    }
  },
}

const latencyChart = ({ overTime }: Static<typeof LatencyFiguresSchema>): Content =>
  lines({
    title: 'Median and 99th percentile of the duration of calls in milliseconds, by minute',
    ...minutely(overTime, ({ p50Ms, p99Ms }) => [p50Ms, p99Ms]),
    series: ['Half, ms', '99 of 100, ms'],
  })

const queueChart = ({ overTime }: Static<typeof QueueFiguresSchema>): Content =>
  lines({
    title: 'Waiting events and deliveries, by minute',
    ...minutely(overTime, (each) => [each.unpublishedEvents, each.pendingDeliveries]),
    series: ['Events', 'Deliveries'],
  })

const missing = html`<p class="empty">
  The figures could not be read. See the fault above.
</p>`

/** Returns null without figures soon, so that a slow chart does not delay the health report. */
const soon = <Figures>(figures: Promise<Figures>): Promise<Figures | null> =>
  Promise.race([figures, sleep(countsTimeoutMs, null, { ref: false })]).catch(() => null)

const countsTimeoutMs = 400

/** Groups samples by minute for a chart. */
const minutely = <Sample extends { readonly at: string }>(
  samples: readonly Sample[],
  listValues: (sample: Sample) => (number | null)[],
) => ({
  rowTitle: 'Minute (UTC)',
  empty: 'A sample is taken each minute: return in two minutes.',
  points: samples.map((sample) => ({ label: sample.at.slice(11, 16), values: listValues(sample) })),
})

interface HealthDocument {
  readonly status: string
  readonly checks: Readonly<Record<string, readonly { status: string; output?: string }[]>>
}

const words = { pass: 'Well', warn: 'Look', fail: 'Fails' } as const
const tones = { pass: 'good', warn: 'warn', fail: 'bad' } as const

/** Renders the health document, worst first. */
async function health({ call }: Visit): Promise<Content> {
  const { checks, status } = (await call('GET', '/health')).body as HealthDocument
  const order = ['fail', 'warn', 'pass'] as const
  const of = (each: string) => order.find((known) => known === each) ?? 'fail'
  const found = Object.entries(checks)
    .flatMap(([name, each]) => each.map((check) => ({ name, ...check, status: of(check.status) })))
    .sort((one, other) => order.indexOf(one.status) - order.indexOf(other.status))
  const sentence = {
    pass: 'The service is healthy.',
    warn: 'The service works, with warnings.',
    fail: 'The service has a fault.',
  }[of(status)]
  return html`<div class="notice ${tones[of(status)]}" role="status"><p><b>${sentence}</b></p></div>
    <div class="scroll" tabindex="0" role="region" aria-label="Health">
      <table>
        <thead><tr>
          <th scope="col">Check</th>
          <th scope="col">State</th>
          <th scope="col">Details</th>
        </tr></thead>
        <tbody>${found.map(
          ({ name, output, status: each }) =>
            html`<tr>
              <th scope="row">${name.replaceAll(/[-:]/g, ' ')}</th>
              <td>${badge(words[each], tones[each])}</td>
              <td>${output}</td>
            </tr>`,
        )}</tbody>
      </table>
    </div>`
}

const FiguresSchema = Type.Array(AuthorizationFiguresSchema)
type Figures = Static<typeof FiguresSchema>

const hourMs = 3_600_000

async function loadHourlyCounts(visit: Visit): Promise<Figures> {
  const to = Math.ceil(Date.now() / hourMs) * hourMs
  const instant = (atMs: number) => new Date(atMs).toISOString().replace('.000Z', 'Z')
  const query = new URLSearchParams({
    from: instant(to - 24 * hourMs),
    to: instant(to),
    bucket: 'hour',
  })
  const known = await visit.read(`/figures/authorizations?${query}`, FiguresSchema)
  // The answer omits hours without requests; the chart includes them.
  return Array.from({ length: 24 }, (_, at) => {
    const fromMs = to - (24 - at) * hourMs
    const measured = known.find(({ from }) => Date.parse(from) === fromMs)
    const from = new Date(fromMs).toISOString()
    return measured ?? { from, approved: 0, declined: 0, declinedBy: {}, approvedAmounts: {} }
  })
}

const sumCounts = (figures: Figures, name: 'approved' | 'declined'): number =>
  figures.reduce((sum, each) => sum + each[name], 0)

/** The amounts of the currencies with most approvals, each in its main unit. */
function amountChart(figures: Figures): Content {
  const names = figures.flatMap(({ approvedAmounts }) => Object.keys(approvedAmounts))
  const hoursOf = (currency: string) => names.filter((name) => name === currency).length
  const currencies = [...new Set(names)]
    .toSorted((one, other) => hoursOf(other) - hoursOf(one))
    .slice(0, currenciesMost)
  return lines({
    title: 'What approvals held, by currency and hour',
    rowTitle: 'Hour (UTC)',
    empty: 'No approved amounts in 24 hours.',
    series: currencies,
    points: figures.map(({ approvedAmounts, from }) => ({
      label: `${from.slice(11, 13)}:00`,
      values: currencies.map(
        (currency) =>
          (approvedAmounts[currency] ?? 0) / 10 ** (findCurrency(currency)?.exponent ?? 0),
      ),
    })),
  })
}

/** The chart has six colours. */
const currenciesMost = 6

/** The meanings of response codes (ISO 8583, field 39). */
const reasons: Readonly<Record<string, string>> = {
  '03': 'Merchant not allowed',
  '05': 'Do not honour',
  '13': 'Invalid amount',
  '14': 'No such card',
  '41': 'Lost card',
  '43': 'Stolen card',
  '54': 'Expired',
  '55': 'Wrong PIN',
  '57': 'Not permitted',
  '61': 'Amount over limit',
  '62': 'Restricted',
  '65': 'Count over limit',
  '75': 'PIN tries used up',
  '82': 'Wrong CVV',
  N7: 'Wrong CVV2',
}

function renderDeclines(figures: Figures): Content {
  const totals = new Map<string, number>()
  for (const { declinedBy } of figures) {
    for (const [code, count] of Object.entries(declinedBy)) {
      totals.set(code, (totals.get(code) ?? 0) + count)
    }
  }
  const codes = [...totals].sort(([, one], [, other]) => other - one).map(([code]) => code)
  // Up to four codes have their own colour; the others share one.
  const [own, others] = [codes.slice(0, 4), codes.slice(4)]
  const describeCode = (code: string) =>
    reasons[code] ? `${reasons[code]} (${code})` : `Declined ${code}`
  return stackedBars({
    title: 'Approvals and declines by reason and hour',
    rowTitle: 'Hour (UTC)',
    empty: 'No authorization requests in 24 hours.',
    series: ['Approved', ...own.map(describeCode), ...(others.length > 0 ? ['Other reasons'] : [])],
    points: figures.map(({ approved, declinedBy, from }) => ({
      label: `${from.slice(11, 13)}:00`,
      values: [
        approved,
        ...own.map((code) => declinedBy[code] ?? 0),
        ...(others.length > 0
          ? [others.reduce((sum, code) => sum + (declinedBy[code] ?? 0), 0)]
          : []),
      ],
    })),
  })
}
