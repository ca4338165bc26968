import type { Static } from 'typebox'
import { parsePayload } from '../../domain/approval.ts'
import { isPublicToken } from '../../domain/identifiers.ts'
import { toMembers } from '../../domain/members.ts'
import { type Content, type Html, html } from '../../listeners/http/html.ts'
import type { ApprovalSchema } from '../../listeners/private/schemas/approvals.ts'
import { cardLink } from '../card-links.ts'
import { capitalize } from '../desk-parts.ts'
import type { Visit } from '../screen.ts'

type Approval = Static<typeof ApprovalSchema>
type Members = Readonly<Record<string, unknown>>

/** The names of members whose words are not those of their name. */
const names: Readonly<Record<string, string>> = {
  clientId: 'Client',
  fulfilment: 'Delivery address',
  jwks: 'Public keys',
  kind: 'Kind',
  networkId: 'Network',
  publicTokens: 'Cards',
  secretHash: 'Hash of the new secret',
  tls: 'TLS',
}

/** `clientName` becomes Client name. */
const nameMember = (member: string): string => {
  const words = member.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
  return names[member] ?? capitalize(words)
}

/**
 * Lists each member of a request and, while the request waits, its present value if that is another
 * one and the reader may see it.
 */
export async function approvalChanges(visit: Visit, approval: Approval): Promise<Content> {
  if (approval.payload === null) return null
  const { reason: _, ...asked } = toMembers(parsePayload(approval.payload).body)
  const members = Object.entries(asked)
  if (members.length === 0) return null
  const now = await findPresent(visit, approval)
  return html`<dl class="changes">${members.map(([member, value]) => [
    html`<dt>${nameMember(member)}</dt>`,
    html`<dd>${
      member === 'jwks'
        ? change(now && (approval.client?.keyThumbprints ?? []), approval.keyThumbprints)
        : change(now?.[member], value)
    }</dd>`,
  ])}</dl>`
}

/**
 * Finds what a waiting request would change: the resource of a PATCH is read at the same path.
 * Null if nothing is changed, or the reader may not see it.
 */
async function findPresent(visit: Visit, approval: Approval): Promise<Members | null> {
  if (approval.method !== 'PATCH' || approval.state !== 'waiting') return null
  const answer = await visit.call('GET', approval.path)
  if (answer.status === 200) return toMembers(answer.body)
  return approval.client
}

/** Renders a value, after the one that it replaces. */
function change(before: unknown, after: unknown): Html {
  if (isTextList(after)) return isTextList(before) ? listChange(before, after) : texts(after)
  if (before === undefined || before === null) return text(after)
  return JSON.stringify(before) === JSON.stringify(after)
    ? html`${text(after)} <span class="fine">unchanged</span>`
    : html`<del>${text(before)}</del> → <ins>${text(after)}</ins>`
}

const isTextList = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'string')

/** Renders what a list gets, loses and keeps. */
function listChange(before: readonly string[], after: readonly string[]): Html {
  const kept = after.filter((each) => before.includes(each))
  const added = after.filter((each) => !before.includes(each))
  const removed = before.filter((each) => !after.includes(each))
  return html`${added.map((each) => html`<ins><code>+ ${each}</code></ins> `)}${removed.map(
    (each) => html`<del><code>− ${each}</code></del> `,
  )}${(kept.length > 0 || added.length + removed.length === 0) && codes(kept)}`
}

/** How many texts are shown at once. */
const shownMost = 8

const texts = (list: readonly string[]): Html =>
  list.length <= shownMost
    ? html`${codes(list)}`
    : html`<details>
        <summary>${list.length}</summary>
        ${codes(list)}
      </details>`

export const codes = (list: readonly string[]): Content =>
  list.length === 0
    ? html`<span class="fine">none</span>`
    : list.map((each) =>
        isPublicToken(each) ? [cardLink(each), ' '] : html`<code>${each}</code> `,
      )

function text(value: unknown): Html {
  if (typeof value === 'boolean') return html`${value ? 'yes' : 'no'}`
  return typeof value === 'string' || typeof value === 'number'
    ? html`<bdi>${value}</bdi>`
    : html`<code>${JSON.stringify(value)}</code>`
}
