import type { Static } from 'typebox'
import { formatShare } from '../../domain/share.ts'
import { type Content, html } from '../../listeners/http/html.ts'
import {
  WatchedDeliverySchema,
  WatchedWebhookSchema,
} from '../../listeners/private/schemas/webhooks.ts'
import { actForm } from '../act-form.ts'
import { addressFieldRule } from '../address.ts'
import { writeCount } from '../amounts.ts'
import { cardLink } from '../card-links.ts'
import { badge, instant, instantInRow, renderActor } from '../desk-parts.ts'
import { actAndReturn } from '../done.ts'
import { field, reasonField, toInstant } from '../fields.ts'
import { filterFault, listFiltered } from '../filters.ts'
import { listKnownClients, renderKnownNames } from '../known-names.ts'
import { type Column, list, pages, renderTable } from '../listing.ts'
import { type Act, type Page, path, type Screen, type Visit } from '../screen.ts'
import { shares } from './shares.ts'

type Webhook = Static<typeof WatchedWebhookSchema>
type Delivery = Static<typeof WatchedDeliverySchema>

const access = 'support.read'
const title = 'Webhooks'

/** The members of a path, or a webhook itself. */
interface WebhookParams {
  readonly clientId?: string
  readonly webhookId?: string
}

const composePath = ({ clientId = '', webhookId = '' }: WebhookParams): string =>
  path`/clients/${clientId}/webhooks/${webhookId}`

const composePageUrl = ({ clientId = '', webhookId = '' }: WebhookParams): string =>
  path`/console/webhooks/${clientId}/${webhookId}`

const stateBadge = ({ consecutiveFailures, failing, status }: Webhook): Content =>
  status === 'Disabled'
    ? badge('Disabled', 'bad')
    : failing
      ? badge(`Failing, ${consecutiveFailures} in a row`, 'bad')
      : consecutiveFailures > 0
        ? badge(`${consecutiveFailures} failed in a row`, 'warn')
        : badge('Enabled', 'good')

/** The current endpoints of every client. */
export const webhooksScreen: Screen = {
  path: '/console/webhooks',
  access,
  navigation: title,
  async show(visit) {
    const { client = '' } = visit.query
    const filter = client === '' ? '' : path`?clientId=${client}`
    const [{ entries, fault, next }, clients] = await Promise.all([
      listFiltered(visit, `/webhooks${filter}`, WatchedWebhookSchema),
      listKnownClients(visit),
    ])
    return {
      title,
      ...(fault !== null && { status: 422 }),
      body: html`<form method="get" action="/console/webhooks" class="row">
          <label>Client id<input name="client" maxlength="64" autocomplete="off"
            list="known-clients" value="${client}" ${addressFieldRule}></label>
          ${renderKnownNames('known-clients', clients)}
          <button>Show</button>
        </form>
        ${filterFault(fault)}
        <live-region id="webhooks" class="webhooks">${renderTable({
          name: title,
          columns: listWebhookColumns(visit),
          rows: entries,
          empty:
            client === ''
              ? html`No webhooks yet. A client adds one with POST /webhooks on the public
                  listener.`
              : html`<b>${client}</b> has no webhook. Ids must match exactly. See
                  <a href="/console/webhooks">all webhooks</a>.`,
        })}</live-region>${pages(visit, next)}`,
    }
  },
}

const listWebhookColumns = (visit: Visit): readonly Column<Webhook>[] => [
  {
    title: 'Endpoint',
    kind: 'name',
    cell: (webhook) =>
      html`<a class="cut address" href="${composePageUrl(webhook)}" title="${webhook.url}"
        >${webhook.url.replace('https://', '')}</a>`,
  },
  { title: 'Status', cell: (webhook) => stateBadge(webhook) },
  { title: 'Last 24 hours', cell: renderLastDay },
  {
    title: 'Client',
    cell: ({ clientId, clientName }) =>
      html`<div class="cut client-name">${renderActor(visit, clientId, clientName)}</div>`,
  },
  { title: 'Last failure', cell: renderFailure },
]

/** Draws how many of the last day's events were delivered. */
function renderLastDay({ lastDay }: Webhook): Content {
  const { delivered, failed, retrying, waiting } = lastDay
  const all = delivered + failed + retrying + waiting
  if (all === 0) return html`<span class="fine">no events</span>`
  const rest = [
    failed > 0 && `${writeCount(failed)} failed`,
    retrying > 0 && `${writeCount(retrying)} being retried`,
    waiting > 0 && `${writeCount(waiting)} not sent yet`,
  ].filter((each) => each !== false)
  const words = [`${writeCount(delivered)} of ${writeCount(all)} delivered`, ...rest]
  return html`<div class="result" title="${words.join(', ')}">
    ${shares([
      { count: delivered, tone: 'good' },
      { count: failed, tone: 'bad' },
      { count: retrying + waiting, tone: 'plain' },
    ])}
    <span>${formatShare(delivered, all)}
      <span class="fine">of ${writeCount(all)}</span></span>
  </div>`
}

function renderFailure(webhook: Webhook): Content {
  const { lastFailure } = webhook.lastDay
  if (lastFailure === null) return null
  const { at, deliveryId, outcome, statusCode, type } = lastFailure
  return html`<a class="one-line" href="${composePageUrl(webhook)}#delivery-${deliveryId}"
    title="${type}">${describeOutcome(outcome, statusCode)}, ${instantInRow(at)}</a>`
}

const describeOutcome = (outcome: string, statusCode: number | undefined): string =>
  outcome === 'bad_status'
    ? `status ${statusCode}`
    : [outcome.replaceAll('_', ' '), statusCode].filter(Boolean).join(' ')

export const webhookScreen: Screen = {
  path: '/console/webhooks/:clientId/:webhookId',
  access,
  navigation: null,
  show: webhookPage,
}

async function webhookPage(visit: Visit): Promise<Page> {
  const own = composePath(visit.params)
  const [webhook, deliveries] = await Promise.all([
    visit.read(own, WatchedWebhookSchema),
    list(visit, `${own}/deliveries`, WatchedDeliverySchema, 25),
  ])
  return {
    title: `Webhook of ${webhook.clientId}`,
    trail: { above: [{ name: title, path: '/console/webhooks' }], name: new URL(webhook.url).host },
    body: html`<div class="columns">
        <section aria-labelledby="endpoint">
          <h2 id="endpoint">Endpoint</h2>
          <live-region id="now">${facts(visit, webhook)}</live-region>
        </section>
        ${visit.scopes.has('support.write') && actions(visit, webhook)}
      </div>
      <h2>Deliveries</h2>
      <live-region id="deliveries" class="deliveries">${renderTable({
        name: 'Deliveries',
        columns: listDeliveryColumns(visit, webhook),
        rows: deliveries.entries,
        empty: 'No deliveries yet: none of its events has occurred since it was added.',
        rowId: ({ deliveryId }) => `delivery-${deliveryId}`,
      })}</live-region>${pages(visit, deliveries.next)}`,
  }
}

const facts = (visit: Visit, webhook: Webhook): Content =>
  html`<dl class="facts">
    <dt>Status</dt>
    <dd>
      ${stateBadge(webhook)}
      ${webhook.disabledAt && html`since ${instant(webhook.disabledAt)}`}
    </dd>
    <dt>URL</dt><dd>${renderUrl(webhook.url)}</dd>
    <dt>Last 24 hours</dt><dd>${renderLastDay(webhook)}</dd>
    <dt>Last failure</dt><dd>${renderFailure(webhook) ?? 'none'}</dd>
    <dt>Next delivery</dt><dd>${instant(webhook.dueAt) ?? 'none'}</dd>
    <dt>Client</dt>
    <dd>${renderActor(visit, webhook.clientId, webhook.clientName)}</dd>
    <dt>Events</dt><dd>${webhook.events.join(', ').replace('*', 'all')}</dd>
    <dt>Since</dt><dd>${instant(webhook.createdAt)}</dd>
  </dl>`

/** Renders a URL on one line, and the whole of a long one on demand. */
const renderUrl = (url: string): Content =>
  url.length <= 60
    ? html`<code>${url}</code>`
    : html`<details class="whole">
        <summary><code class="cut address">${url}</code></summary>
        <code>${url}</code>
      </details>`

/** Renders the acts on a webhook, each with a reason. */
function actions(visit: Visit, webhook: Webhook): Content {
  const form = (act: string, name: string, fields: Content, hint: string) => {
    const action = `${composePageUrl(webhook)}/${act}`
    return actForm(visit, { action, name, fields: [fields, reasonField(visit, action)], hint })
  }
  const sinceField = field(visit, `${composePageUrl(webhook)}/replay`, {
    name: 'since',
    label: 'Since, in UTC',
    type: 'datetime-local',
    value: new Date(Date.now() - 86_400_000).toISOString().slice(0, 16),
  })
  const forms =
    webhook.status === 'Enabled'
      ? [
          form(
            'replay',
            'Deliver missed events',
            sinceField,
            'Every event since then that was not delivered, in order. Delivered events are not ' +
              'sent again.',
          ),
          form(
            'disable',
            'Disable',
            null,
            'No more events are sent, and pending deliveries are cancelled. The client can ' +
              'enable the webhook again.',
          ),
        ]
      : form(
          'enable',
          'Enable',
          null,
          'New events are sent again. Missed events are not sent automatically.',
        )
  return html`<section aria-labelledby="actions"><h2 id="actions">Actions</h2>${forms}</section>`
}

const tones = { Delivered: 'good', Failed: 'bad', Pending: 'warn' } as const

const listDeliveryColumns = (visit: Visit, webhook: Webhook): readonly Column<Delivery>[] => [
  { title: 'Event', kind: 'name', cell: ({ type }) => type },
  {
    title: 'Status',
    look: 'one-line',
    cell: ({ nextTryAt, status }) =>
      html`${badge(status, tones[status])}
        ${
          status === 'Pending' &&
          nextTryAt &&
          html`<span class="fine">next ${instantInRow(nextTryAt)}</span>`
        }`,
  },
  { title: 'Created', cell: ({ createdAt }) => instantInRow(createdAt) },
  { title: 'Answer', cell: renderLastAnswer },
  {
    title: 'Card',
    cell: ({ publicToken }) => publicToken && cardLink(publicToken),
  },
  {
    title: 'Attempts',
    cell: ({ eventId, tries }) => (tries.length === 0 ? 'none yet' : triesDetails(eventId, tries)),
  },
  { title: '', cell: (delivery) => resendForm(visit, webhook, delivery) },
]

function renderLastAnswer({ tries }: Delivery): Content {
  const last = tries.at(-1)
  if (!last) return null
  const { outcome, response, statusCode } = last
  return html`<div class="cut" title="${response}">${describeOutcome(outcome, statusCode)} ${
    response && html`<code class="fine">${response}</code>`
  }</div>`
}

function resendForm(visit: Visit, webhook: Webhook, { deliveryId, type }: Delivery): Content {
  const isAllowed = visit.scopes.has('support.write') && webhook.status === 'Enabled'
  if (!isAllowed || type === 'webhook.ping') return null
  const action = `${composePageUrl(webhook)}/deliveries/${deliveryId}/resend`
  return actForm(visit, { action, name: 'Send again', fields: reasonField(visit, action) })
}

const triesDetails = (eventId: string, tries: Delivery['tries']): Content =>
  html`<details>
    <summary>${tries.length === 1 ? '1 attempt' : `${tries.length} attempts`}</summary>
    <ol>${tries.map(
      ({ at, durationMs, outcome, response, statusCode }) =>
        html`<li>
          ${instant(at)} ${describeOutcome(outcome, statusCode)}
          <span class="fine">${durationMs} ms ${response && html`<code>${response}</code>`}</span>
        </li>`,
    )}</ol>
    <p class="fine">webhook-id <code>${eventId}</code></p>
  </details>`

/** The forms of a webhook, by their paths below its own, and what each has changed. */
const doneTexts: Readonly<Record<string, string>> = {
  'deliveries/:deliveryId/resend':
    'The delivery is sent again now. The result appears below within seconds.',
  replay: 'Every event since then that was not delivered is sent again, in order.',
  disable: 'The webhook is disabled. Pending deliveries are cancelled.',
  enable: 'The webhook is enabled. To send the missed events, deliver them again.',
}

export const webhookActs: readonly Act[] = Object.entries(doneTexts).map(([name, done]) => ({
  path: `/console/webhooks/:clientId/:webhookId/${name}`,
  access: 'support.write',
  perform(visit, { reason, since }) {
    const act = name.replace(':deliveryId', path`${visit.params.deliveryId ?? ''}`)
    return actAndReturn(visit, 'POST', `${composePath(visit.params)}/${act}`, {
      body: { reason, ...(since !== undefined && { since: toInstant(since) }) },
      to: composePageUrl(visit.params),
      done,
    })
  },
}))
