import type { Static } from 'typebox'
import { type Content, type Html, html } from '../../listeners/http/html.ts'
import type { SupportedCardSchema } from '../../listeners/private/schemas/cards.ts'
import { isRefused, reasonField } from '../fields.ts'
import { formFields, path, type Visit } from '../screen.ts'
import { describePinInChip, type FoundChip, isPinInChipBlocked } from './card-chip.ts'

export type Card = Static<typeof SupportedCardSchema>

interface CardAct {
  readonly name: string
  readonly done: string
  readonly hint: string
  /** The act that takes it back, if there is one. */
  readonly undo?: ActName
  isFor(card: Card): boolean
}

export const actNames = ['freeze', 'unfreeze', 'pin/unblock', 'cvv/unblock'] as const
export type ActName = (typeof actNames)[number]

/** The acts of agents on a card, each with a reason. */
export const acts: Readonly<Record<ActName, CardAct>> = {
  freeze: {
    name: 'Freeze',
    done: 'The card is frozen. Authorizations are declined until it is unfrozen.',
    hint: 'Authorizations are declined until it is unfrozen.',
    undo: 'unfreeze',
    isFor: ({ cardStatusCode }) => cardStatusCode === '00',
  },
  unfreeze: {
    name: 'Unfreeze',
    done: 'The card is active again.',
    hint: 'The card becomes active again.',
    undo: 'freeze',
    isFor: ({ cardStatusCode, retired }) => cardStatusCode === '62' && !retired,
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
}

function isOpen({ cardStatusCode, retired }: Card): boolean {
  return ['00', '02', '62'].includes(cardStatusCode) && !retired
}

/** What keeps a cardholder from paying, and the act that ends it. */
interface Trouble {
  readonly text: Content
  readonly act: ActName
}

function listTroubles(card: Card, chip: FoundChip): readonly Trouble[] {
  const { cardStatusCode, cvvStatus, pinStatus } = card
  const troubles: (Trouble | false)[] = [
    cardStatusCode === '62' && {
      text: 'The card is frozen: authorizations are declined.',
      act: 'unfreeze',
    },
    pinStatus.status === 'Blocked' && { text: pinStatus.description, act: 'pin/unblock' },
    cvvStatus.status === 'Blocked' && { text: cvvStatus.description, act: 'cvv/unblock' },
    pinStatus.status !== 'Blocked' &&
      isPinInChipBlocked(chip) && { text: describePinInChip(chip), act: 'pin/unblock' },
  ]
  return troubles.filter((trouble) => trouble !== false)
}

/**
 * The acts on a card: first those that end a trouble, of which the first one is recommended. Each
 * button opens its form in place.
 */
export function actions(visit: Visit, card: Card, chip: FoundChip): Html {
  const mayChange = visit.scopes.has('support.write')
  const open = mayChange ? actNames.filter((name) => acts[name].isFor(card)) : []
  const troubles = listTroubles(card, chip)
  const ending = [...new Set(troubles.map(({ act }) => act))].filter((act) => open.includes(act))
  const others = open.filter((name) => !ending.includes(name))
  const closed = card.retired
    ? 'The card is retired and cannot be changed.'
    : 'The card is closed permanently and cannot be changed.'
  const none = mayChange ? closed : 'Your role can read cards, but not change them.'
  const form = (name: ActName, look: string) => actForm(visit, card, name, look)
  return html`<section class="acts" aria-labelledby="actions">
    <h2 id="actions">${troubles.length > 0 ? 'To do' : 'Actions'}</h2>
    ${troubles.map(({ text }) => html`<p class="trouble">${text}</p>`)}
    <div class="buttons">
      ${ending.map((name, at) => form(name, at === 0 ? 'primary' : 'quiet'))}
      ${others.map((name) => form(name, 'quiet'))}
      ${mayChange && nameForm(visit, card)}
    </div>
    ${open.length === 0 && html`<p class="empty">${none}</p>`}
  </section>`
}

function actForm(visit: Visit, card: Card, name: ActName, look: string): Html {
  const action = `${path`/console/cards/${card.publicToken}`}/${name}`
  const isOpened = isRefused(visit, action) || visit.query.act === name
  const id = `act-${name.replace('/', '-')}`
  return html`<details class="act ${look}" id="${id}" name="act"${isOpened && html` open`}>
    <summary>${acts[name].name}</summary>
    <form method="post" action="${action}">
      ${formFields(visit)}
      ${reasonField(visit, action)}
      <p class="hint">${acts[name].hint} The reason is recorded with your name.</p>
      <button>${acts[name].name}</button>
    </form>
  </details>`
}

const nameForm = (visit: Visit, { publicToken }: Card): Html =>
  html`<form class="inline-act" method="post"
    action="${path`/console/cards/${publicToken}/cardholder`}">
    ${formFields(visit)}
    <button class="quiet" title="The disclosure is recorded with your name.">
      Show the cardholder’s name
    </button>
  </form>`
