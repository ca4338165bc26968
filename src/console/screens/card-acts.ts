import { isFinal } from '../../domain/card-status.ts'
import { type Content, type Html, html } from '../../listeners/http/html.ts'
import { cardPath } from '../card-links.ts'
import { isRefused, reasonField } from '../fields.ts'
import { formFields, path, type Visit } from '../screen.ts'
import { type ActName, actNames, type CardAct, type CardFacts } from './card-act.ts'
import { describePinInChip, isPinInChipBlocked } from './card-chip.ts'
import { lifeActs } from './card-life-acts.ts'

/** The acts of operators on a card, each with a reason. */
export const acts: Readonly<Record<ActName, CardAct>> = {
  freeze: {
    name: 'Freeze',
    done: 'The card is frozen. Authorizations are declined until it is unfrozen.',
    hint: () => 'Authorizations are declined until it is unfrozen.',
    undo: 'unfreeze',
    isFor: ({ card }) => card.cardStatusCode === '00' && !card.retired,
  },
  unfreeze: {
    name: 'Unfreeze',
    done: 'The card is active again.',
    hint: () => 'The card becomes active again.',
    undo: 'freeze',
    isFor: ({ card }) => card.cardStatusCode === '62' && !card.retired,
  },
  'pin/unblock': {
    name: 'Unblock PIN',
    done:
      'The PIN is unblocked. All its tries are restored. The PIN in a chip follows with the next ' +
      'online purchase.',
    hint: () =>
      'Restores all tries of the PIN. The PIN in a chip follows with the next online purchase.',
    isFor: (facts) =>
      isOpen(facts) &&
      (isBlocked(facts.card.pinStatus) ||
        isAnyUsed(facts, 'pin-tries') ||
        isPinInChipBlocked(facts.chip)),
  },
  'cvv/unblock': {
    name: 'Unblock CVV',
    done: 'The CVV is unblocked. All its tries are restored.',
    hint: () => 'Restores all tries of the CVV.',
    isFor: (facts) =>
      isOpen(facts) && (isBlocked(facts.card.cvvStatus) || isAnyUsed(facts, 'cvv-tries')),
  },
  ...lifeActs,
}

function isOpen({ card: { cardStatusCode, retired } }: CardFacts): boolean {
  return !isFinal(cardStatusCode) && !retired
}

const isBlocked = ({ status }: CardFacts['card']['pinStatus']): boolean => status === 'Blocked'

const isAnyUsed = ({ limits }: CardFacts, limitName: string): boolean =>
  limits.some(({ name, used }) => name === limitName && used > 0)

/** A reason why a cardholder cannot pay, now or soon, and the act that can still end it. */
interface Trouble {
  readonly text: Content
  readonly act: ActName
}

function listTroubles(facts: CardFacts): readonly Trouble[] {
  const { card, chip, possible } = facts
  const { cardStatusCode, cvvStatus, expiryDate, pinStatus, status } = card
  const expired = cardStatusCode === '54' ? 'expired' : 'expires'
  const troubles: (Trouble | false)[] = [
    possible.recommended === 'replace' && {
      text: `The card is ${status.toLowerCase()}, and no other card has taken its place.`,
      act: 'replace',
    },
    possible.recommended === 'renew' && {
      text: `The card ${expired} on ${expiryDate}, and no new plastic is ordered.`,
      act: 'renew',
    },
    cardStatusCode === '62' && {
      text: 'The card is frozen: authorizations are declined.',
      act: 'unfreeze',
    },
    pinStatus.status === 'Blocked' && { text: pinStatus.description, act: 'pin/unblock' },
    cvvStatus.status === 'Blocked' && { text: cvvStatus.description, act: 'cvv/unblock' },
    pinStatus.status !== 'Blocked' &&
      isPinInChipBlocked(chip) && { text: describePinInChip(chip), act: 'pin/unblock' },
  ]
  return troubles.filter((trouble) => trouble !== false).filter(({ act }) => acts[act].isFor(facts))
}

/**
 * The acts on a card: first those that end a trouble, of which the first one is recommended. Each
 * button opens its form in place.
 */
export function actions(visit: Visit, facts: CardFacts): Html {
  const { card } = facts
  const mayChange = visit.scopes.has('support.write')
  const open = mayChange ? actNames.filter((name) => acts[name].isFor(facts)) : []
  const troubles = listTroubles(facts)
  const ending = [...new Set(troubles.map(({ act }) => act))].filter((act) => open.includes(act))
  const others = open.filter((name) => !ending.includes(name))
  const closed = card.retired
    ? 'The card is retired and cannot be changed.'
    : 'The card is closed permanently and cannot be changed.'
  const none = mayChange ? closed : 'Your role can read cards, but not change them.'
  const form = (name: ActName, look: string) => actForm(visit, facts, name, look)
  return html`<section class="acts" aria-labelledby="actions">
    <h2 id="actions">${troubles.length > 0 ? 'To do' : 'Actions'}</h2>
    ${troubles.map(({ text }) => html`<p class="trouble">${text}</p>`)}
    <div class="buttons">
      ${ending.map((name, at) => form(name, at === 0 ? 'primary' : 'quiet'))}
      ${others.map((name) => form(name, 'quiet'))}
      ${mayChange && nameForm(visit, card.publicToken)}
    </div>
    ${open.length === 0 && html`<p class="empty">${none}</p>`}
  </section>`
}

function actForm(visit: Visit, facts: CardFacts, name: ActName, look: string): Html {
  const action = `${cardPath(facts.card.publicToken)}/${name}`
  const isOpened = isRefused(visit, action) || visit.query.act === name
  const { fields, hint, name: title } = acts[name]
  return html`<details class="act ${look}" id="act-${name.replace('/', '-')}" name="act"${
    isOpened && html` open`
  }>
    <summary>${title}</summary>
    <form method="post" action="${action}">
      ${formFields(visit)}
      <p class="hint">${hint(facts)}</p>
      ${fields?.(facts, visit, action)}
      ${reasonField(visit, action)}
      <p class="hint">The reason is recorded with your name.</p>
      <button>${title}</button>
    </form>
  </details>`
}

const nameForm = (visit: Visit, publicToken: string): Html =>
  html`<form class="inline-act" method="post"
    action="${path`/console/cards/${publicToken}/cardholder`}">
    ${formFields(visit)}
    <button class="quiet" title="The disclosure is recorded with your name.">
      Show the cardholder’s name
    </button>
  </form>`
