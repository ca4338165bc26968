import type { Problem } from '../domain/problem.ts'
import { type Content, type Html, html } from '../listeners/http/html.ts'
import type { ApiAnswer, Lead } from './screen.ts'

/** Renders an instant in UTC, to the second; a script adds the reader's local time. */
export const instant = (at: string | null | undefined): Content =>
  at && html`<time datetime="${at}">${at.slice(0, 19).replace('T', ' ')} UTC</time>`

/** Renders a short label; its colour only repeats the word's meaning. */
export const badge = (word: string, tone: 'good' | 'bad' | 'warn' | 'plain' = 'plain'): Html =>
  html`<span class="badge ${tone}">${word}</span>`

/** Renders the refusal of a form, above it. */
export const refusal = ({ detail, errors = [], title }: Problem): Html =>
  html`<div class="notice bad" role="alert"><p>${title}</p>${detail && html`<p>${detail}</p>`}${
    errors.length > 0 &&
    html`<ul>${errors.map((each) => html`<li>${each.pointer.slice(1)} ${each.detail}</li>`)}</ul>`
  }</div>`

/** Returns the cursor of the next page (RFC 8288), or null. */
export function cursorAfter({ headers }: ApiAnswer): string | null {
  const [, target = ''] = /^<([^>]*)>; rel="next"$/.exec(headers.link ?? '') ?? []
  return new URLSearchParams(target.split('?')[1]).get('cursor')
}

/** Renders the status of a card. */
export const statusBadge = (card: {
  readonly status: string
  readonly cardStatusCode: string
}): Html => badge(card.status, tones[card.cardStatusCode] ?? 'bad')

const tones: Readonly<Record<string, 'good' | 'warn'>> = {
  '00': 'good',
  '02': 'warn',
  '62': 'warn',
}

/** Formats seconds, rounded up: one day, but 47 hours. */
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
 * Returns the target after a form's call succeeded or needs an approval; null after a refusal.
 * @param done the target after success, and the notice there.
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
