import { setTimeout as sleep } from 'node:timers/promises'
import type { Static } from 'typebox'
import { type Content, html } from '../../listeners/http/html.ts'
import {
  LatencyFiguresSchema,
  QueueFiguresSchema,
} from '../../listeners/private/schemas/figures.ts'
import { lines } from '../charts.ts'
import { indexNames, listKnownClients } from '../known-names.ts'
import type { Screen, Visit } from '../screen.ts'
import { loadNewest, renderStrip } from './authorizations.ts'
import { renderState } from './home-exceptions.ts'
import * as figures from './home-figures.ts'

/** The first screen: what needs attention, and the answers of the last hours or days. */
export const homeScreen: Screen = {
  path: '/console',
  access: 'anyone',
  navigation: 'Home',
  async show(visit) {
    const [state, body] = await Promise.all([
      renderState(visit),
      visit.scopes.has('support.read') ? renderDesk(visit) : null,
    ])
    return {
      title: 'Home',
      body: html`<live-region id="now" every="15">${state}</live-region>${body}`,
    }
  },
}

async function renderDesk(visit: Visit): Promise<Content> {
  const selection = figures.parseSelection(visit)
  const [answers, clients, known, newest, queues, latency] = await Promise.all([
    soon(figures.loadFigures(visit, selection)),
    soon(figures.loadClients(visit, selection)),
    soon(listKnownClients(visit)),
    soon(loadNewest(visit, selection.clientId)),
    soon(visit.read('/figures/queues', QueueFiguresSchema)),
    soon(visit.read('/figures/latency', LatencyFiguresSchema)),
  ])
  return html`<live-region id="figures" every="15">
      <section aria-labelledby="answers" class="answers">
        <div class="row between">
          <h2 id="answers">Authorizations</h2>
          ${figures.renderRanges(selection)}
        </div>
        ${answers ? figures.renderHeadline(answers, selection) : missing}
        ${
          answers &&
          html`<div class="split">
            ${figures.answerChart(answers, selection)}
            <div>
              <h3 id="reasons">Declines by reason</h3>
              ${figures.renderReasons(answers, selection)}
            </div>
          </div>`
        }
      </section>
    </live-region>
    <live-region id="strip" every="5">
      <section aria-labelledby="newest" class="flush authorizations">
        <div class="row between">
          <h2 id="newest">Newest authorizations</h2>
          <a href="/console/authorizations">All authorizations</a>
        </div>
        ${newest ? renderStrip(newest) : missing}
      </section>
    </live-region>
    <live-region id="rest" every="60">
    <section aria-labelledby="clients" class="flush">
      <h2 id="clients">By client, in ${selection.range.words}</h2>
      ${
        clients
          ? figures.renderClients(visit, clients, indexNames(known ?? []), selection)
          : missing
      }
    </section>
    <div class="columns">
      <section aria-labelledby="latency">
        <h2 id="latency">Latency of calls</h2>
        ${latency ? latencyChart(latency) : missing}
      </section>
      <section aria-labelledby="queue">
        <h2 id="queue">Queue</h2>
        ${queues ? queueChart(queues) : missing}
      </section>
    </div>
    </live-region>`
}

const latencyChart = ({ overTime }: Static<typeof LatencyFiguresSchema>): Content =>
  lines({
    zone: 'UTC',
    title: 'Median and 99th percentile of the duration of calls in milliseconds, by minute',
    unit: ' ms',
    ...minutely(overTime, ({ p50Ms, p99Ms }) => [p50Ms, p99Ms]),
    series: ['p50', 'p99'],
  })

const queueChart = ({ overTime }: Static<typeof QueueFiguresSchema>): Content =>
  lines({
    zone: 'UTC',
    title: 'Waiting events and deliveries, by minute',
    ...minutely(overTime, (each) => [each.unpublishedEvents, each.pendingDeliveries]),
    series: ['Events', 'Deliveries'],
  })

const missing = html`<p class="empty">
  The figures could not be read in time. They are read again within a minute.
</p>`

/** Returns null without figures soon, so that slow figures do not delay the state. */
const soon = <Figures>(read: Promise<Figures>): Promise<Figures | null> =>
  Promise.race([read, sleep(figuresTimeoutMs, null, { ref: false })]).catch(() => null)

const figuresTimeoutMs = 400

/** Groups samples by minute for a chart. */
const minutely = <Sample extends { readonly at: string }>(
  samples: readonly Sample[],
  listValues: (sample: Sample) => (number | null)[],
) => ({
  rowTitle: 'Minute (UTC)',
  empty: 'A sample is taken each minute. Return in two minutes.',
  points: samples.map((sample) => ({ label: sample.at.slice(11, 16), values: listValues(sample) })),
})
