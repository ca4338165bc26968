import type { Static } from 'typebox'
import { describeDecline } from '../../domain/decline-words.ts'
import { toMembers } from '../../domain/members.ts'
import { describeTransaction } from '../../domain/transaction.ts'
import { type Content, type Html, html } from '../../listeners/http/html.ts'
import type { TimelineEntrySchema } from '../../listeners/private/schemas/cards.ts'
import { writeMoney } from '../amounts.ts'
import { authorizationPath } from '../card-links.ts'
import { instantInRow, renderActor, type Tone } from '../desk-parts.ts'
import type { Visit } from '../screen.ts'
import { type Act, describeAct, listDeliveries, listIds, type Shown } from './act-details.ts'
import { actName } from './act-names.ts'
import { left } from './tries-left.ts'

type Entry = Static<typeof TimelineEntrySchema>

/** The kinds that a timeline can be reduced to. */
export const timelineKinds: Readonly<Record<Entry['kind'], string>> = {
  authorization: 'Authorizations',
  change: 'Changes',
  disclosure: 'Disclosures',
  attempt: 'Tries',
}

/** A row of the timeline: one line, with more behind a disclosure. */
interface Row {
  readonly at: string
  readonly tone: Tone
  readonly what: Content
  readonly text: Content
  readonly by: Content
  readonly more: readonly Content[]
}

/** Renders the history of a card, newest first. @param empty the advice for an empty history */
export function timelineList(shown: Shown, entries: readonly Entry[], empty: string): Html {
  if (entries.length === 0) return html`<p class="empty">${empty}</p>`
  const rows = foldEntries(entries).map(({ entry, folded }) => toRow(shown, entry, folded))
  return html`<ol class="timeline">${rows.map(renderRow)}</ol>`
}

const renderRow = ({ at, by, more, text, tone, what }: Row): Html =>
  html`<li class="${tone}">
    ${instantInRow(at)}
    <b>${what}</b>
    <div class="told">${text}${by && html` <span class="by">${by}</span>`}</div>
    <details><summary aria-label="More">⋯</summary><div class="more">${more}</div></details>
  </li>`

/** An entry, with the entries that came of it. */
interface Folded {
  readonly entry: Entry
  readonly folded: Entry[]
}

/**
 * Puts the try and the events of an authorization under it, if all are on the page: they are one
 * occurrence.
 */
function foldEntries(entries: readonly Entry[]): readonly Folded[] {
  const rows: Folded[] = entries.map((entry) => ({ entry, folded: [] }))
  const byKey = new Map<string, Folded>()
  for (const row of rows) {
    const { authorization } = row.entry
    if (!authorization) continue
    byKey.set(authorization.authorizationId, row)
    byKey.set(authorization.reference, row)
  }
  return rows.filter(({ entry }) => {
    const owner = byKey.get(findOccurrence(entry) ?? '')
    if (owner) owner.folded.push(entry)
    return !owner
  })
}

/** Finds what an entry has in common with the authorization that it came of. */
function findOccurrence({ act, attempt }: Entry): string | null {
  if (attempt) return attempt.reference
  const { authorizationId, reference } = toMembers(act?.details)
  const isOfNetwork = /^(authorization\.|(pin|cvv)\.attempt_failed$)/.test(act?.type ?? '')
  const key = authorizationId ?? reference
  return isOfNetwork && typeof key === 'string' ? key : null
}

function toRow(shown: Shown, entry: Entry, folded: readonly Entry[]): Row {
  const { act, at, attempt, authorization } = entry
  if (authorization) return authorizationRow(shown, { at, authorization, folded })
  if (attempt) return attemptRow(at, attempt)
  return act ? actRow(shown, at, act) : emptyRow(at)
}

/** An entry without a member has nothing to tell. */
const emptyRow = (at: string): Row => ({
  at,
  tone: 'plain',
  what: 'Entry',
  text: null,
  by: null,
  more: [],
})

const badActs = /(declined|blocked|failed|degraded|late)$/

function actRow(shown: Shown, at: string, act: Act): Row {
  const { reason, type } = act
  const told = describeAct(shown, act)
  return {
    at,
    tone: badActs.test(type) ? 'bad' : 'plain',
    what: actName(type),
    text: html`${told}${reason && html` <q title="${reason}">${reason}</q>`}`,
    by: describeActor(shown.visit, act.by),
    more: [listDeliveries(shown, act), listIds(act)],
  }
}

const attemptResults = {
  match: ['Right', 'good'],
  mismatch: ['Wrong', 'bad'],
  unresolved: ['Not compared', 'warn'],
} as const

function attemptRow(at: string, attempt: NonNullable<Entry['attempt']>): Row {
  const { entryId, kind, remainingTries, result } = attempt
  const [word, tone] = attemptResults[result]
  return {
    at,
    tone,
    what: `${kind.toUpperCase()} tried`,
    text: `${word} · ${left(remainingTries)}`,
    by: null,
    more: [describeAttempt(attempt), html`<p>Entry <code>${entryId}</code></p>`],
  }
}

const describeAttempt = (attempt: NonNullable<Entry['attempt']>): Html => {
  const { entryMode, reference, restored, tryNumber } = attempt
  return html`<p>
    Try ${tryNumber}${restored && ', given back'} · ${entryMode} · Reference
    <code>${reference}</code>
  </p>`
}

interface ShownAuthorization {
  readonly at: string
  readonly authorization: NonNullable<Entry['authorization']>
  readonly folded: readonly Entry[]
}

function authorizationRow(shown: Shown, { at, authorization, folded }: ShownAuthorization): Row {
  const { advice, approved, authorizationId, entryMode, reference, responseCode } = authorization
  const tries = folded.flatMap(({ attempt }) => attempt ?? [])
  const acts = folded.flatMap(({ act }) => act ?? [])
  const [tried] = tries
  const reason = !approved && describeDecline(responseCode, authorization.declineReason)
  const said = [
    reason,
    tried && !approved && left(tried.remainingTries),
    describeTransaction(authorization, writeMoney),
  ].filter(Boolean)
  return {
    at,
    tone: approved ? 'good' : 'bad',
    what: html`<a href="${authorizationPath(shown.publicToken, authorizationId)}">${
      approved ? 'Approved' : 'Declined'
    }</a>`,
    text: html`<span title="${said.join(' · ')}">${said.join(' · ')}</span>`,
    by: null,
    more: [
      advice && html`<p>Say: “${advice}”</p>`,
      html`<p>
        ${entryMode} · Network ${authorization.networkId} · Reference <code>${reference}</code>
      </p>`,
      tries.map(describeAttempt),
      acts.map((act) => [listDeliveries(shown, act), listIds(act)]),
    ],
  }
}

/** Renders who acted, with a link to their page. */
export function describeActor(visit: Visit, { id, kind, name }: Act['by']): Content {
  if (kind === 'network') return 'card network'
  return kind === 'service' || id === null ? 'the service' : renderActor(visit, id, name)
}
