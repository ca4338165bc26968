import Type, { type Static } from 'typebox'
import { findCurrency } from '../../domain/currencies.ts'
import { describeResponseCode } from '../../domain/decline-words.ts'
import { formatShare } from '../../domain/share.ts'
import { type Content, type Html, html } from '../../listeners/http/html.ts'
import {
  AuthorizationFiguresSchema,
  ClientAuthorizationFiguresSchema,
} from '../../listeners/private/schemas/all-authorizations.ts'
import { writeCount } from '../amounts.ts'
import { stackedBars } from '../charts.ts'
import { renderActor } from '../desk-parts.ts'
import { type Column, renderTable } from '../listing.ts'
import { path, type Visit } from '../screen.ts'
import { shares } from './shares.ts'

const FiguresSchema = Type.Array(AuthorizationFiguresSchema)
type Figures = Static<typeof FiguresSchema>
const ClientsSchema = Type.Array(ClientAuthorizationFiguresSchema)
type Clients = Static<typeof ClientsSchema>

const hourMs = 3_600_000

interface Range {
  readonly name: string
  readonly words: string
  readonly bucket: 'hour' | 'sixHours' | 'day'
  readonly stepMs: number
  readonly steps: number
  /** The label of an interval, in UTC. */
  readonly label: Intl.DateTimeFormat
}

const labels = (options: Intl.DateTimeFormatOptions) =>
  new Intl.DateTimeFormat('en-GB', { ...options, timeZone: 'UTC' })
const timeOfDay = { hour: '2-digit', minute: '2-digit' } as const

const ranges: readonly [Range, ...Range[]] = [
  {
    name: '24h',
    words: '24 hours',
    bucket: 'hour',
    stepMs: hourMs,
    steps: 24,
    label: labels(timeOfDay),
  },
  {
    name: '7d',
    words: '7 days',
    bucket: 'sixHours',
    stepMs: 6 * hourMs,
    steps: 28,
    label: labels({ weekday: 'short', ...timeOfDay }),
  },
  {
    name: '30d',
    words: '30 days',
    bucket: 'day',
    stepMs: 24 * hourMs,
    steps: 30,
    label: labels({ day: 'numeric', month: 'short' }),
  },
]

/** What the figures of Home are about, from its address. */
export interface FigureSelection {
  readonly range: Range
  readonly clientId: string | null
  readonly from: string
  readonly to: string
}

/** Reads the range and the client in the query of Home. */
export function parseSelection({ query }: Pick<Visit, 'query'>): FigureSelection {
  const range = ranges.find(({ name }) => name === query.range) ?? ranges[0]
  const toMs = Math.ceil(Date.now() / range.stepMs) * range.stepMs
  const write = (atMs: number) => new Date(atMs).toISOString().replace('.000Z', 'Z')
  return {
    range,
    clientId: query.client || null,
    from: write(toMs - range.steps * range.stepMs),
    to: write(toMs),
  }
}

/** The figures of a selection, with an entry for each interval. */
export async function loadFigures(visit: Visit, selection: FigureSelection): Promise<Figures> {
  const { clientId, from, range, to } = selection
  const query = new URLSearchParams({ from, to, bucket: range.bucket })
  if (clientId) query.set('clientId', clientId)
  const known = await visit.read(`/figures/authorizations?${query}`, FiguresSchema)
  const byStart = new Map(known.map((each) => [Date.parse(each.from), each]))
  return Array.from({ length: range.steps }, (_, at) => {
    const startMs = Date.parse(from) + at * range.stepMs
    const none = { approved: 0, declined: 0, declinedBy: {}, approvedAmounts: {} }
    return byStart.get(startMs) ?? { from: new Date(startMs).toISOString(), ...none }
  })
}

/** The figures of each client in the period of a selection. */
export const loadClients = (visit: Visit, { from, to }: FigureSelection): Promise<Clients> =>
  visit.read(path`/figures/authorizations/clients?from=${from}&to=${to}`, ClientsSchema)

const homeAddress = (range: Range, clientId: string | null): string =>
  `/console?${new URLSearchParams({ range: range.name, ...(clientId && { client: clientId }) })}`

/** Renders the ranges, and the client that was chosen. */
export const renderRanges = ({ clientId, range }: FigureSelection): Html =>
  html`<p class="filters ranges">
    ${ranges.map(
      (each) =>
        html`<a href="${homeAddress(each, clientId)}"${
          each === range && html` aria-current="true"`
        }>${each.words}</a>`,
    )}
    ${
      clientId &&
      html`<span>Only <bdi>${clientId}</bdi> · <a href="${homeAddress(range, null)}">All
        clients</a></span>`
    }
  </p>`

const rateOf = (approved: number, declined: number): string =>
  approved + declined === 0 ? '–' : formatShare(approved, approved + declined)

const sum = (figures: Figures, name: 'approved' | 'declined'): number =>
  figures.reduce((total, each) => total + each[name], 0)

/** Sums the counts of several records by their names, the largest first. */
function sumByName(records: readonly Readonly<Record<string, number>>[]): [string, number][] {
  const totals = new Map<string, number>()
  for (const [name, count] of records.flatMap(Object.entries<number>)) {
    totals.set(name, (totals.get(name) ?? 0) + count)
  }
  return [...totals].toSorted(([, one], [, other]) => other - one)
}

/** Renders the approval rate with its parts, and the approved amounts. */
export function renderHeadline(figures: Figures, selection: FigureSelection): Html {
  const approved = sum(figures, 'approved')
  const declined = sum(figures, 'declined')
  const amounts = sumByName(figures.map(({ approvedAmounts }) => approvedAmounts)).slice(0, 2)
  return html`<div class="headline">
    <p class="rate"><b>${rateOf(approved, declined)}</b> approval rate</p>
    ${(['approved', 'declined'] as const).map((outcome) => {
      const count = writeCount(sum(figures, outcome))
      const address = listAddress(selection, { outcome })
      return html`<p><a href="${address}"><b>${count}</b> ${outcome}</a></p>`
    })}
    ${amounts.map(
      ([currency, amount]) =>
        html`<p><b>${formatSum(amount, currency)}</b> ${currency} approved</p>`,
    )}
  </div>`
}

const formatSum = (amount: number, currency: string): string =>
  writeCount(Math.round(amount / 10 ** (findCurrency(currency)?.exponent ?? 0)))

/** The address of the list of authorizations that a figure counts. */
function listAddress(
  { clientId, from, to }: FigureSelection,
  filter: Readonly<Record<string, string>>,
): string {
  const query = new URLSearchParams({ ...filter, from, to })
  if (clientId) query.set('clientId', clientId)
  return `/console/authorizations?${query}`
}

/** Draws approvals and declines over time. */
export const answerChart = (figures: Figures, { range }: FigureSelection): Html =>
  stackedBars({
    title: 'Approvals and declines over time',
    zone: 'UTC',
    rowTitle: 'From (UTC)',
    empty: `No authorization requests in ${range.words}. A network sends them, or the sandbox.`,
    series: ['Approved', 'Declined'],
    points: figures.map(({ approved, declined, from }) => ({
      label: range.label.format(new Date(from)),
      values: [approved, declined],
    })),
  })

/** Draws the share of a reason among all declines. */
const drawShare = (count: number, all: number): Html =>
  shares([
    { count, tone: 'bad' },
    { count: all - count, tone: 'plain' },
  ])

/** The reasons that are listed; the others are summed. */
const reasonsMost = 8

/** Renders declines by reason, most frequent first; each leads to its authorizations. */
export function renderReasons(figures: Figures, selection: FigureSelection): Html {
  const reasons = sumByName(figures.map(({ declinedBy }) => declinedBy))
  if (reasons.length === 0) return html`<p class="empty">Nothing was declined.</p>`
  const all = reasons.reduce((total, [, count]) => total + count, 0)
  const others = reasons.slice(reasonsMost).reduce((total, [, count]) => total + count, 0)
  return html`<ol class="reasons">
    ${reasons.slice(0, reasonsMost).map(([code, count]) => {
      const address = listAddress(selection, { responseCode: code })
      return html`<li>
        <a href="${address}">${describeResponseCode(code)}</a>
        <span class="number">${writeCount(count)}</span>
        <span class="number">${formatShare(count, all)}</span>
        ${drawShare(count, all)}
      </li>`
    })}
    ${
      others > 0 &&
      html`<li>
        <span>Other reasons</span>
        <span class="number">${writeCount(others)}</span>
        <span class="number">${formatShare(others, all)}</span>
        ${drawShare(others, all)}
      </li>`
    }
  </ol>`
}

/** The clients that are listed. */
const clientsMost = 10

/**
 * Renders the approval rate of each client.
 * @param names the names of clients by their ids
 */
export const renderClients = (
  visit: Visit,
  clients: Clients,
  names: ReadonlyMap<string, string>,
  { range }: FigureSelection,
): Content =>
  renderTable({
    name: 'By client',
    columns: listClientColumns(visit, names, range),
    rows: clients.slice(0, clientsMost),
    empty: 'Clients appear with their first authorization.',
  })

const listClientColumns = (
  visit: Visit,
  names: ReadonlyMap<string, string>,
  range: Range,
): readonly Column<Clients[number]>[] => [
  {
    title: 'Client',
    kind: 'name',
    cell: ({ clientId }) =>
      html`<span class="cut">${renderActor(visit, clientId, names.get(clientId))}</span>`,
  },
  {
    title: 'Requests',
    kind: 'number',
    cell: ({ approved, declined }) => writeCount(approved + declined),
  },
  {
    title: 'Approved',
    kind: 'number',
    cell: ({ approved, clientId, declined }) =>
      html`<a href="${homeAddress(range, clientId)}" title="Show Home for this client">${rateOf(
        approved,
        declined,
      )}</a>`,
  },
  {
    title: 'Most frequent decline',
    cell: ({ declinedBy }) => {
      const [most] = sumByName([declinedBy])
      return html`<span class="cut">${most ? describeResponseCode(most[0]) : '–'}</span>`
    },
  },
]
