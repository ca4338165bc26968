import type { Problem } from '../domain/problem.ts'
import { type Content, type Html, html } from '../listeners/http/html.ts'
import type { ApiAnswer, Lead } from './screen.ts'

/** When something was, to the second, in UTC; a script puts the reader's own time beside it. */
export const instant = (at: string | null | undefined): Content =>
  at && html`<time datetime="${at}">${at.slice(0, 19).replace('T', ' ')} UTC</time>`

/** A word that is taken in at a glance; its colour says nothing that it does not say itself. */
export const badge = (word: string, tone: 'good' | 'bad' | 'warn' | 'plain' = 'plain'): Html =>
  html`<span class="badge ${tone}">${word}</span>`

/** Renders the result of a form above it. */
export const refusal = ({ detail, errors = [], title }: Problem): Html =>
  html`<div class="notice bad" role="alert"><p>${title}</p>${detail && html`<p>${detail}</p>`}${
    errors.length > 0 &&
    html`<ul>${errors.map((each) => html`<li>${each.pointer.slice(1)} ${each.detail}</li>`)}</ul>`
  }</div>`

/** The cursor of the page that follows an answer (RFC 8288), or null. */
export function cursorAfter({ headers }: ApiAnswer): string | null {
  const [, target = ''] = /^<([^>]*)>; rel="next"$/.exec(headers.link ?? '') ?? []
  return new URLSearchParams(target.split('?')[1]).get('cursor')
}

/** The status of a card, as everywhere. */
export const statusBadge = (card: {
  readonly status: string
  readonly cardStatusCode: string
}): Html => badge(card.status, tones[card.cardStatusCode] ?? 'bad')

const tones: Readonly<Record<string, 'good' | 'warn'>> = {
  '00': 'good',
  '02': 'warn',
  '62': 'warn',
}

/** So many seconds, rounded up as people say them: one day, but 47 hours. */
export function duration(seconds: number): string {
  const isSaidIn = ([each]: readonly [number, string]) => seconds >= 2 * each || seconds === each
  const [size, name] = units.find(isSaidIn) ?? [1, 'second']
  const count = Math.ceil(seconds / size)
  return `${count} ${name}${count === 1 ? '' : 's'}`
}

const units = [
  [86_400, 'day'],
  [3_600, 'hour'],
  [60, 'minute'],
] as const

/**
 * Where a form leads when its call was done, or when another person has to approve it first; null
 * where it was refused.
 * @param done where it leads when it was done, and what the page there says.
 */
export function ledTo({ headers, status }: ApiAnswer, done: Lead): Lead | null {
  if (status === 202 && headers.location) {
    const asked =
      'This act needs the approval of another person. The request was made, and is executed ' +
      'after its approval.'
    return { to: `/console${headers.location}`, notice: { lines: [asked] } }
  }
  return status < 300 ? done : null
}
