import { isPersonId } from '../domain/person.ts'
import { type Content, type Html, html } from '../listeners/http/html.ts'
import { path, type Visit } from './screen.ts'

const timeOfDay = {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
  timeZone: 'UTC',
} as const
const day = { day: 'numeric', month: 'short' } as const
const timeFormat = new Intl.DateTimeFormat('en-GB', timeOfDay)
const shortFormat = new Intl.DateTimeFormat('en-GB', { ...day, ...timeOfDay })
const formatWithYear = new Intl.DateTimeFormat('en-GB', { ...day, ...timeOfDay, year: 'numeric' })

/**
 * Renders an instant in UTC, to the second, with its year unless that is this one. A script turns
 * it into the reader's local time (web/console/local-time.ts).
 */
export const instant = (at: string | null | undefined): Content =>
  at ? html`<time datetime="${at}" title="${at}">${writeInstant(at)} UTC</time>` : null

/** Renders an instant in a row of a list: of today, only its time. */
export function instantInRow(at: string | null | undefined): Content {
  if (!at) return null
  const today = new Date().toISOString().slice(0, 10)
  const isToday = new Date(at).toISOString().startsWith(today)
  const text = isToday ? timeFormat.format(new Date(at)) : writeInstant(at)
  return html`<time datetime="${at}" title="${at}" data-in-row>${text} UTC</time>`
}

function writeInstant(at: string): string {
  const date = new Date(at)
  const isThisYear = date.getUTCFullYear() === new Date().getUTCFullYear()
  return (isThisYear ? shortFormat : formatWithYear).format(date)
}

/**
 * Renders the name of a person or a client, which links to its page if the reader may open that.
 * Its id is shown under the pointer, and in place of a name that is not known.
 */
export function renderActor(
  { scopes }: Pick<Visit, 'scopes'>,
  id: string,
  name: string | null | undefined,
): Html {
  const isPerson = isPersonId(id)
  // The digits of a person's id are a hash, without a meaning for readers.
  const words = name ?? (isPerson ? `${id.slice(0, 13)}…` : id)
  const readers = isPerson ? personReaders : clientReaders
  const address = isPerson ? path`/console/people/${id}` : path`/console/clients/${id}`
  return readers.some((scope) => scopes.has(scope))
    ? html`<a class="actor" href="${address}" title="${id}"><bdi>${words}</bdi></a>`
    : html`<span class="actor" title="${id}"><bdi>${words}</bdi></span>`
}

const personReaders = ['admin', 'audit.read'] as const
const clientReaders = ['admin', 'support.read'] as const

/** Writes the first letter of a text as a capital. */
export const capitalize = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1)}`

/** Names a role for people: `support-lead` is “Support lead”. */
export const nameRole = (role: string): string => capitalize(role).replaceAll('-', ' ')

/** The colour of what is shown. It only repeats the meaning of the words. */
export type Tone = 'good' | 'bad' | 'warn' | 'plain'

/** Renders a short label. */
export const badge = (word: string, tone: Tone = 'plain'): Html =>
  html`<span class="badge ${tone}">${word}</span>`

/** Renders the status of a card. */
export const statusBadge = (card: {
  readonly status: string
  readonly cardStatusCode: string
}): Html => badge(card.status, tones[card.cardStatusCode] ?? 'bad')

const tones: Readonly<Record<string, Tone>> = {
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
