import { make } from '../../../packages/card-element/field.ts'
import { plainWords } from '../../../packages/card-element/plain-words.ts'
import { byId, consumeValue, onSubmit, say } from '../../../web/elements.ts'
import {
  type Attempt,
  listAttempts,
  type Product,
  type Purchase,
  pay,
  readCvvStatus,
  readPinStatus,
  type TryStatus,
  unblock,
} from './relay-panel.ts'

type Kind = 'pin' | 'cvv'

const names = { pin: 'PIN', cvv: 'CVV' } as const

/** Reads the tries and attempts of a card again and shows them. */
export async function refreshTries(
  publicToken: string,
  product: Product,
  afterChange: () => Promise<void>,
): Promise<void> {
  const [pin, cvv, attempts] = await Promise.all([
    readPinStatus(publicToken),
    readCvvStatus(publicToken),
    listAttempts(publicToken),
  ])
  const act = (kind: Kind) => () => unblockAndTell(publicToken, kind, afterChange)
  showTries('pin', pin, product.pinTryLimit, act('pin'))
  showTries('cvv', cvv, product.cvvTryLimit, act('cvv'))
  const list = byId('attempts', HTMLOListElement)
  list.replaceChildren(...(attempts.length > 0 ? attempts.map(createAttempt) : [noAttempt()]))
}

function showTries(kind: Kind, status: TryStatus, limit: number, act: () => Promise<void>): void {
  const isBlocked = status.status === 'Blocked'
  const spent = Math.max(0, limit - status.remainingTries)
  const dot = (name: string) => make('span', { class: name })
  const dots = [
    ...Array.from({ length: status.remainingTries }, () => dot('left')),
    ...Array.from({ length: spent }, () => dot('spent')),
  ]
  const region = byId(`${kind}-tries`, HTMLElement)
  const hadFocus = region.contains(document.activeElement)
  const text = isBlocked ? 'Blocked' : `${status.remainingTries} of ${limit} tries left`
  const button = make('button', { type: 'button' }, `Unblock ${names[kind]}`)
  button.addEventListener('click', () => void act())
  region.classList.toggle('blocked', isBlocked)
  region.replaceChildren(
    make('h3', {}, names[kind]),
    make('div', { class: 'dots', 'aria-hidden': 'true' }, ...dots),
    make('div', { class: 'text' }, text),
    ...(spent > 0 ? [button] : []),
  )
  // The pressed button was removed, so the focus moves here for keyboard users.
  if (!hadFocus) return
  region.tabIndex = -1
  region.focus()
}

async function unblockAndTell(
  publicToken: string,
  kind: Kind,
  afterChange: () => Promise<void>,
): Promise<void> {
  const said = byId('tries-said', HTMLElement)
  try {
    await unblock(publicToken, kind)
    say(said, `The tries of the ${names[kind]} are restored.`, 'good')
  } catch (error) {
    say(said, plainWords(error), 'bad')
  }
  await afterChange()
}

const results = { match: 'right', mismatch: 'wrong', unresolved: 'not decided' } as const

const createAttempt = ({ at, kind, remainingTries, result }: Attempt): HTMLElement =>
  make(
    'li',
    {},
    make('span', { class: 'when' }, new Date(at).toLocaleTimeString()),
    make('span', { class: result }, `${names[kind]} ${results[result]}`),
    make('span', {}, `${remainingTries} left`),
  )

const noAttempt = (): HTMLElement =>
  make('li', {}, 'No tries yet. The values that were tried are never stored.')

/** Connects the forms of the shop to the current card. */
export function startShop(currentToken: () => string, afterChange: () => Promise<void>): void {
  const said = byId('shop-said', HTMLElement)
  const purchase = async (shown: { pin: string } | { cvv: string }) => {
    try {
      const answer = await pay(currentToken(), shown)
      say(said, wordsFor(answer), answer.approved ? 'good' : 'bad')
    } catch (error) {
      say(said, plainWords(error), 'bad')
    }
    await afterChange()
  }
  onSubmit('pay-pin-form', () => purchase({ pin: consumeValue(byId('pay-pin', HTMLInputElement)) }))
  onSubmit('pay-cvv-form', () => purchase({ cvv: consumeValue(byId('pay-cvv', HTMLInputElement)) }))
}

/** Describes an answer by the network's response code (ISO 8583, field 39). */
function wordsFor({ approved, cvv, pin, responseCode }: Purchase): string {
  if (approved) return 'Approved (00).'
  if (responseCode === '55') return `Refused (55): wrong PIN. ${triesLeft(pin?.remainingTries)}`
  if (responseCode === '75') return 'Declined (75): the PIN is blocked. It was not compared.'
  if (responseCode !== 'N7') return `Refused (${responseCode}).`
  return `Declined (N7): wrong or blocked CVV. ${triesLeft(cvv?.remainingTries)}`
}

const triesLeft = (count = 0): string =>
  count === 0 ? 'That was the last try.' : count === 1 ? 'One try left.' : `${count} tries left.`
