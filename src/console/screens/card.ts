import Type, { type Static } from 'typebox'
import { CardOfHistorySchema } from '../../listeners/http/card-history-members.ts'
import { type Content, html } from '../../listeners/http/html.ts'
import { PaymentSchema } from '../../listeners/http/payment-schemas.ts'
import {
  type CardholderSchema,
  SupportedCardSchema,
} from '../../listeners/private/schemas/cards.ts'
import { toProblem } from '../console.ts'
import { badge, cursorAfter, instant, ledTo, refusal, statusBadge } from '../desk-parts.ts'
import { type Act, formFields, type Page, path, type Screen, type Visit } from '../screen.ts'
import { chipSection, describePinInChip, type FoundChip, findChip } from './card-chip.ts'
import {
  type CardOfLine,
  describeSuccession,
  lineSection,
  plasticsSection,
  retiredBadge,
} from './card-life.ts'
import {
  describeActor,
  left,
  type TimelineSchema,
  timelineKinds,
  timelineTable,
} from './card-timeline.ts'
import { usedLimits } from './limits.ts'
import { paymentsTable } from './payment-parts.ts'

type Card = Static<typeof SupportedCardSchema>

const access = 'support.read'

/** The acts of agents on a card, each with a reason. */
const acts = {
  freeze: {
    name: 'Freeze',
    done: 'The card is frozen. Authorizations are declined until it is unfrozen.',
    hint: 'Authorizations are declined until it is unfrozen.',
    isFor: ({ cardStatusCode }: Card) => cardStatusCode === '00',
  },
  unfreeze: {
    name: 'Unfreeze',
    done: 'The card is active again.',
    hint: 'The card becomes active again.',
    isFor: ({ cardStatusCode, retired }: Card) => cardStatusCode === '62' && !retired,
  },
  'pin/unblock': {
    name: 'Unblock PIN',
    done:
      'The PIN is unblocked. All its tries are restored. The PIN in a chip follows with the next ' +
      'online purchase.',
    hint: 'Restores all tries of the PIN. The PIN in a chip follows with the next online purchase.',
    isFor: isOpen,
  },
  'cvv/unblock': {
    name: 'Unblock CVV',
    done: 'The CVV is unblocked. All its tries are restored.',
    hint: 'Restores all tries of the CVV.',
    isFor: isOpen,
  },
} as const
type ActName = keyof typeof acts

function isOpen({ cardStatusCode, retired }: Card): boolean {
  return ['00', '02', '62'].includes(cardStatusCode) && !retired
}

export const cardScreen: Screen = {
  path: '/console/cards/:publicToken',
  access,
  navigation: null,
  show: (visit) => cardPage(visit, null),
}

/** @param above the fault of the last form. */
async function cardPage(visit: Visit, above: Content): Promise<Page> {
  const { publicToken = '' } = visit.params
  const card = await visit.read(path`/cards/${publicToken}`, SupportedCardSchema)
  const limits = await usedLimits(visit, path`/cards/${publicToken}/limits`)
  const payments = await visit.read(
    `${path`/cards/${publicToken}/payments`}?limit=5`,
    Type.Array(PaymentSchema),
  )
  const chip = await findChip(visit, publicToken)
  const line = await visit.read(
    `${path`/cards/${publicToken}/history`}?limit=100`,
    Type.Array(CardOfHistorySchema),
  )
  const { cursor } = visit.query
  const answer = await visit.call(
    'GET',
    `${path`/cards/${publicToken}/timeline`}?limit=100${cursor ? path`&cursor=${cursor}` : ''}`,
  )
  if (answer.status !== 200) throw toProblem(answer)
  const entries = answer.body as Static<typeof TimelineSchema>
  return {
    title: `Card ${card.maskedPan}`,
    body: html`${above}
      <div class="columns">
        <section aria-labelledby="card">
          <h2 id="card">${statusBadge(card)}${retiredBadge(card)}</h2>
          ${facts(card, line)}
        </section>
        <section aria-labelledby="tries">
          <h2 id="tries">PIN and CVV</h2>
          ${tries(card, chip)}
        </section>
        ${actions(visit, card)}
      </div>
      <section aria-labelledby="payments">
        <h2 id="payments">Latest payments</h2>
        ${paymentsTable(payments, 'The card has no payments.')}
        ${
          payments.length > 0 &&
          html`<p><a href="${path`/console/cards/${publicToken}/payments`}">All payments</a></p>`
        }
      </section>
      ${lineSection(line, publicToken)}
      ${plasticsSection(line, publicToken)}
      ${chipSection(chip)}
      <section aria-labelledby="limits"><h2 id="limits">Limits</h2>${limits}</section>
      ${timeline(visit, card, entries, cursorAfter(answer))}`,
  }
}

const facts = (card: Card, line: readonly CardOfLine[]): Content =>
  html`<dl>
    ${
      card.statusReason &&
      html`<dt>Since</dt>
        <dd>
          ${instant(card.statusReason.at)}
          <p class="fine">${describeActor(card.statusReason.by)}</p>
          ${card.statusReason.reason && html`“${card.statusReason.reason}”`}
        </dd>`
    }
    <dt>Token</dt><dd><code>${card.publicToken}</code></dd>
    <dt>Client</dt><dd>${card.clientName} <span class="fine">${card.clientId}</span></dd>
    <dt>Customer reference</dt><dd>${card.customerReference ?? 'none'}</dd>
    <dt>Product</dt>
    <dd>
      ${card.productName}
      <span class="fine">${card.productId} · ${card.schemeName} · ${card.cardType}</span>
    </dd>
    <dt>Expires</dt><dd>${card.expiryDate}</dd>
    <dt>Renewal</dt><dd>${card.renewalType}</dd>
    ${describeSuccession(line, card.publicToken)}
    <dt>Created</dt><dd>${instant(card.createdAt)}</dd>
  </dl>`

const tries = ({ cvvStatus, pinStatus }: Card, chip: FoundChip): Content =>
  html`<dl>${Object.entries({ PIN: pinStatus, CVV: cvvStatus }).map(
    ([name, { description, remainingTries, status }]) =>
      html`<dt>${name}</dt>
        <dd>
          ${badge(status, status === 'Blocked' ? 'bad' : 'good')} ${left(remainingTries)}
          <p class="fine">${description}</p>
          ${name === 'PIN' && describePinInChip(chip)}
        </dd>`,
  )}</dl>`

function actions(visit: Visit, card: Card): Content {
  const names = Object.keys(acts) as ActName[]
  const mayChange = visit.scopes.has('support.write')
  const open = mayChange ? names.filter((name) => acts[name].isFor(card)) : []
  const closed = card.retired
    ? 'The card is retired and cannot be changed.'
    : 'The card is closed permanently and cannot be changed.'
  const none = mayChange ? closed : 'Your role can read cards, but not change them.'
  return html`<section aria-labelledby="actions">
    <h2 id="actions">Actions</h2>
    ${open.map(
      (name) => html`<details>
        <summary>${acts[name].name}</summary>
        <form method="post" action="${path`/console/cards/${card.publicToken}`}/${name}">
          ${formFields(visit)}
          <label>Reason<input name="reason" required maxlength="200" autocomplete="off"></label>
          <p class="hint">${acts[name].hint} The reason is recorded with your name.</p>
          <button>${acts[name].name}</button>
        </form>
      </details>`,
    )}
    ${open.length === 0 && html`<p class="empty">${none}</p>`}
    ${
      mayChange &&
      html`<form method="post" action="${path`/console/cards/${card.publicToken}/cardholder`}">
        ${formFields(visit)}
        <button class="quiet">Show the cardholder’s name</button>
        <p class="hint">The disclosure is recorded with your name.</p>
      </form>`
    }
  </section>`
}

function timeline(
  { here, query: { show = '' }, scopes }: Visit,
  card: Card,
  entries: Static<typeof TimelineSchema>,
  next: string | null,
): Content {
  const { clientId, publicToken } = card
  const link = (name: string, value: string) => {
    const query = new URLSearchParams(new URL(here, 'http://console.invalid').search)
    query.set(name, value)
    return `${path`/console/cards/${publicToken}`}?${query}#timeline`
  }
  const kinds = [['', 'Everything'] as const, ...Object.entries(timelineKinds)]
  const shown = entries.filter(({ kind }) => show === '' || kind === show)
  const mayAudit = scopes.has('audit.read')
  const filters = kinds.map(
    ([kind, name]) =>
      html`<a href="${link('show', kind)}"${
        show === kind && html` aria-current="true"`
      }>${name}</a> `,
  )
  const receipts =
    mayAudit &&
    html`<a href="${path`/console/disclosures?of=${publicToken}`}">
      Disclosures with receipts</a>`
  const empty =
    `None of the ${entries.length} entries here is of this kind. Choose Everything, or see ` +
    'older entries.'
  return html`<section aria-labelledby="timeline">
    <h2 id="timeline">Timeline</h2>
    <nav class="filters" aria-label="What the timeline shows">${filters}${receipts}</nav>
    ${timelineTable({ clientId, publicToken, mayAudit }, shown, empty)}
    ${
      next !== null &&
      html`<nav class="pages" aria-label="Pages">
        <a rel="next" href="${link('cursor', next)}">Older</a>
      </nav>`
    }
  </section>`
}

/** The forms of a card. A refusal is shown above the card, and the forms are unchanged. */
export const cardActs: readonly Act[] = [
  ...(Object.keys(acts) as ActName[]).map(
    (name): Act => ({
      path: `/console/cards/:publicToken/${name}`,
      access: 'support.write',
      async perform(visit, { reason = '' }) {
        const { publicToken = '' } = visit.params
        const answer = await visit.call('POST', `${path`/cards/${publicToken}`}/${name}`, {
          reason,
        })
        const led = ledTo(answer, {
          to: path`/console/cards/${publicToken}`,
          notice: { tone: 'good', lines: [acts[name].done] },
        })
        if (led) return led
        const problem = toProblem(answer)
        return { ...(await cardPage(visit, refusal(problem))), status: problem.status }
      },
    }),
  ),
  {
    // Shown once on the next page; reloading it discloses nothing again.
    path: '/console/cards/:publicToken/cardholder',
    access: 'support.write',
    async perform(visit) {
      const { publicToken = '' } = visit.params
      const answer = await visit.call('POST', path`/cards/${publicToken}/cardholder`)
      if (answer.status !== 200) {
        const problem = toProblem(answer)
        return { ...(await cardPage(visit, refusal(problem))), status: problem.status }
      }
      const { embossName, firstName, lastName, middleName, title } = answer.body as Static<
        typeof CardholderSchema
      >
      const name = [title, firstName, middleName, lastName].filter(Boolean).join(' ')
      const lines = [
        `${name}, on the card ${embossName}`,
        `This disclosure is entry ${answer.headers['audit-entry']} of the audit log. The name ` +
          'is shown once.',
      ]
      return { to: path`/console/cards/${publicToken}`, notice: { lines } }
    },
  },
]
