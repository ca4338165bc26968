import { make } from '../pinfold-card/make.ts'
import type { Exchange } from '../relay/journal.ts'
import { byId } from './elements.ts'
import { readJournal } from './relay-calls.ts'

/** Reads again what the relay saw, and shows it. */
export async function refreshRelayPanel(): Promise<void> {
  const journal = byId('journal', HTMLOListElement)
  const exchanges = await readJournal()
  byId('relay-compare', HTMLElement).replaceChildren(...comparisons(exchanges))
  journal.replaceChildren(...exchanges.map(entryOf))
}

/** What this device had in clear, and what of it the relay got: the newest of each kind. */
function comparisons(exchanges: readonly Exchange[]): HTMLElement[] {
  const revealed = exchanges.find(
    ({ path, status }) => path.endsWith('/encrypted') && status === 200,
  )
  const chosen = exchanges.find(({ path, sent }) => path.endsWith('/pin') && sent !== '')
  const found = [
    ...(revealed ? [compare(cardWords(revealed), member(revealed.received, 'jwe'))] : []),
    ...(chosen ? [compare('the PIN that you typed', member(chosen.sent, 'encryptedPin'))] : []),
  ]
  return found.length > 0
    ? found
    : [make('p', { class: 'hint' }, 'Show the details of your card, and see here what passed by.')]
}

const cardWords = ({ sent }: Exchange): string =>
  `the number, expiry${sent.includes('"includePin":true') ? ', CVV and PIN' : ' and CVV'} on the card`

const compare = (onDevice: string, ciphertext: string): HTMLElement =>
  make(
    'dl',
    { class: 'compare' },
    make('dt', {}, 'This device saw'),
    make('dd', {}, onDevice),
    make('dt', {}, 'The relay saw'),
    make('dd', { class: 'cipher' }, ciphertext),
  )

function entryOf({ at, method, path, received, sent, status }: Exchange): HTMLElement {
  const isSealed = /"(jwe|encryptedPin)"/.test(sent + received)
  const summary = make(
    'summary',
    {},
    make('span', {}, `${method} ${path.replace(/^\/thr\/[^/]+/, '')}`),
    ...(isSealed ? [make('span', { class: 'sealed' }, 'sealed')] : []),
    make('span', {}, String(status)),
  )
  const time = new Date(at).toLocaleTimeString()
  const bodies = [
    make('p', { class: 'hint' }, `${time}, sent`),
    make('pre', {}, sent === '' ? 'no body' : pretty(sent)),
    make('p', { class: 'hint' }, 'answered'),
    make('pre', {}, received === '' ? 'no body' : pretty(received)),
  ]
  return make('li', {}, make('details', {}, summary, ...bodies))
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

function member(text: string, name: string): string {
  try {
    return String((JSON.parse(text) as Readonly<Record<string, unknown>>)[name])
  } catch {
    return text
  }
}
