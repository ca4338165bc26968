import Type from 'typebox'
import { CardOfHistorySchema } from '../../listeners/http/card-history-members.ts'
import { type Content, type Html, html } from '../../listeners/http/html.ts'
import { PaymentSchema } from '../../listeners/http/payment-schemas.ts'
import { RecordedAuthorizationSchema } from '../../listeners/private/schemas/card-authorizations.ts'
import { PossibleActsSchema } from '../../listeners/private/schemas/card-life-acts.ts'
import {
  CardholderSchema,
  SupportedCardSchema,
  TimelineEntrySchema,
} from '../../listeners/private/schemas/cards.ts'
import { CardSpendingSchema, UsedLimitSchema } from '../../listeners/private/schemas/limits.ts'
import { cardPath, cardsPlace, paymentsPath } from '../card-links.ts'
import { leadAfter } from '../done.ts'
import { parseAnswer } from '../listener-answers.ts'
import { list } from '../listing.ts'
import { type Act, type Page, path, type Screen, type Visit } from '../screen.ts'
import { type ActName, actNames, type Card } from './card-act.ts'
import { actions, acts } from './card-acts.ts'
import { chipSection, findChip } from './card-chip.ts'
import { lineSection, plasticsSection } from './card-life.ts'
import { timelineKinds, timelineList } from './card-timeline.ts'
import { cardFace, cardFacts, cardStatus, lastDecline } from './card-top.ts'
import { limitsSection, spendingSection, triesSection } from './card-use.ts'
import { latestPayments } from './payment-parts.ts'

const access = 'support.read'

export const cardScreen: Screen = {
  path: '/console/cards/:publicToken',
  access,
  navigation: null,
  show: cardPage,
}

/** How many entries a page of the timeline has. An authorization has up to three, in one row. */
const timelineLength = 40

/** Among how many authorizations the last decline is looked for. */
const authorizationsMost = 10

async function cardPage(visit: Visit): Promise<Page> {
  const { publicToken = '' } = visit.params
  const address = path`/cards/${publicToken}`
  const card = await visit.read(address, SupportedCardSchema)
  const [limits, spending, payments, authorizations, chip, line, possible, timeline] =
    await Promise.all([
      visit.read(`${address}/limits`, Type.Array(UsedLimitSchema)),
      visit.read(`${address}/spending`, CardSpendingSchema),
      visit.read(`${address}/payments?limit=5`, Type.Array(PaymentSchema)),
      visit.read(
        `${address}/authorizations?limit=${authorizationsMost}`,
        Type.Array(RecordedAuthorizationSchema),
      ),
      findChip(visit, publicToken),
      visit.read(`${address}/history?limit=100`, Type.Array(CardOfHistorySchema)),
      visit.read(`${address}/possible-acts`, PossibleActsSchema),
      timelineSection(visit, card),
    ])
  return {
    title: `Card ${card.maskedPan}`,
    trail: { above: [cardsPlace], name: card.maskedPan.slice(-4) },
    body: html`<div class="card-top">
        ${cardFace(card)}
        ${cardStatus(visit, card)}
        ${actions(visit, { card, chip, limits, line, possible })}
        ${cardFacts(visit, card, line)}
      </div>
      ${lastDecline(
        authorizations.find(({ approved }) => !approved),
        card,
      )}
      <div class="card-parts">
        <div class="wide">
          <section aria-labelledby="payments">
            <div class="head">
              <h2 id="payments">Latest payments</h2>
              ${
                payments.length > 0 && html`<a href="${paymentsPath(publicToken)}">All payments</a>`
              }
            </div>
            ${latestPayments(payments, 'The card has no payments.')}
          </section>
          ${timeline}
          ${lineSection(line, publicToken)}
        </div>
        <div class="aside">
          ${triesSection(card, chip, limits)}
          ${spendingSection(spending)}
          ${limitsSection(limits)}
          ${plasticsSection(line, publicToken)}
          ${chipSection(chip)}
        </div>
      </div>`,
  }
}

/** The timeline: a page of all entries, or of one kind. */
async function timelineSection(visit: Visit, { clientId, publicToken }: Card): Promise<Html> {
  const { cursor } = visit.query
  const show = Object.keys(timelineKinds).find((kind) => kind === visit.query.show)
  const address = path`/cards/${publicToken}/timeline`
  const { entries, next } = await list(
    visit,
    show === undefined ? address : `${address}?kind=${show}`,
    TimelineEntrySchema,
    timelineLength,
  )
  const link = (members: Readonly<Record<string, string>>) =>
    `${cardPath(publicToken)}?${new URLSearchParams(members)}#timeline`
  const kept: Readonly<Record<string, string>> = show === undefined ? {} : { show }
  const filters = [[undefined, 'Everything'] as const, ...Object.entries(timelineKinds)].map(
    ([kind, name]) =>
      html`<a href="${link(kind === undefined ? {} : { show: kind })}"${
        show === kind && html` aria-current="true"`
      }>${name}</a> `,
  )
  const empty =
    show === undefined
      ? 'Nothing has happened to the card yet.'
      : 'The card has no entries of this kind here.'
  return html`<section aria-labelledby="timeline">
    <div class="head"><h2 id="timeline">Timeline</h2>${receipts(visit)}</div>
    <nav class="filters tabs" aria-label="What the timeline shows">${filters}</nav>
    ${timelineList({ visit, clientId, publicToken }, entries, empty)}
    ${
      (next !== null || cursor !== undefined) &&
      html`<nav class="pages" aria-label="Pages">
        ${cursor !== undefined && html`<a href="${link(kept)}">Newest</a>`}
        ${next !== null && html`<a rel="next" href="${link({ ...kept, cursor: next })}">Older</a>`}
      </nav>`
    }
  </section>`
}

const receipts = ({ params: { publicToken = '' }, scopes }: Visit): Content =>
  scopes.has('audit.read') &&
  html`<a href="${path`/console/disclosures?of=${publicToken}`}">Disclosures with receipts</a>`

/** The forms of a card. A refusal is shown above the card and at its field. */
export const cardActs: readonly Act[] = [
  ...actNames.map(
    (name): Act => ({
      path: `/console/cards/:publicToken/${name}`,
      access: 'support.write',
      async perform(visit, form) {
        const { reason = '' } = form
        const { publicToken = '' } = visit.params
        const to = cardPath(publicToken)
        const { call, describe, done, undo } = acts[name]
        const asked = call?.(form) ?? { path: name, members: {} }
        const answer = await visit.call('POST', `${path`/cards/${publicToken}`}/${asked.path}`, {
          reason,
          ...asked.members,
        })
        return leadAfter(answer, {
          to,
          notice: {
            tone: 'good',
            lines: [done],
            ...(undo && { link: undoLink(to, undo) }),
            ...(answer.status === 200 && describe?.(answer)),
          },
        })
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
      const cardholder = parseAnswer(answer, CardholderSchema)
      const { embossName, firstName, lastName, middleName, title } = cardholder
      const name = [title, firstName, middleName, lastName].filter(Boolean).join(' ')
      const lines = [
        `${name}, on the card ${embossName}`,
        `This disclosure is entry ${answer.headers['audit-entry']} of the audit log. The name ` +
          'is shown once.',
      ]
      return { to: cardPath(publicToken), notice: { lines } }
    },
  },
]

/** An act is taken back by another act, which has a reason of its own. */
const undoLink = (to: string, undo: ActName) => ({
  href: `${to}?act=${undo}#act-${undo}`,
  text: `Undo: ${acts[undo].name.toLowerCase()}`,
})
