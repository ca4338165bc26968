import type { Static } from 'typebox'
import { isFinal } from '../../domain/card-status.ts'
import { operatorReplacementReasons } from '../../domain/replacement.ts'
import { type Content, type Html, html } from '../../listeners/http/html.ts'
import {
  type PossibleActsSchema,
  SuccessorOfAnyClientSchema,
} from '../../listeners/private/schemas/card-life-acts.ts'
import { cardPath } from '../card-links.ts'
import { field, readKept } from '../fields.ts'
import { parseAnswer } from '../listener-answers.ts'
import type { ApiAnswer, Form, Notice } from '../screen.ts'
import type { ActName, Card, CardAct, CardFacts, TypedForm } from './card-act.ts'

type PossibleActs = Static<typeof PossibleActsSchema>
type Successor = Extract<PossibleActs['replace'], { possible: true }>['successors'][number]

/** The acts of card life. The service says which are possible, and what each of them will do. */
export const lifeActs: Readonly<
  Record<
    Extract<
      ActName,
      | 'activate'
      | 'migrate'
      | 'renew'
      | 'reprint'
      | 'convert'
      | 'cancel-renewal'
      | 'delivery-address'
      | 'replace'
    >,
    CardAct
  >
> = {
  activate: {
    name: 'Activate',
    done: 'The card is active.',
    isFor: ({ possible }) => possible.activate.possible,
    hint: describeActivation,
  },
  migrate: {
    name: 'Activate plastic',
    done: 'The plastic is activated. The one before it works no longer.',
    // Without a plastic that waits, it is that of a converted card, which `activate` activates.
    isFor: (facts) => facts.possible.migrate.possible && hasWaitingPlastic(facts),
    hint: ({ possible: { migrate } }) =>
      migrate.possible &&
      `Plastic ${migrate.plasticNumber} can be used at once. The present plastic works no longer.`,
    call: () => ({ path: 'renew', members: { renewStep: 'Migrate' } }),
  },
  renew: {
    name: 'Renew',
    done: 'The card is renewed. Its new plastic is listed under Plastics.',
    isFor: ({ possible }) => possible.renew.possible,
    hint: ({ card, possible: { deliveredTo, renew } }) =>
      renew.possible &&
      `The card gets a plastic that is valid until ${renew.expiryDate}, with the same number and ` +
        `PIN. ${describeOrder(deliveredTo, renew.current, card.cardStatusCode)}`,
  },
  reprint: {
    name: 'Reprint',
    done: 'A copy of the plastic is ordered. It is listed under Plastics.',
    isFor: ({ card, possible }) => possible.reprint.possible && card.cardType === 'Physical',
    hint: ({ card, possible: { deliveredTo, reprint } }) =>
      reprint.possible &&
      `The card gets a copy of its plastic, valid until ${reprint.expiryDate}, with the same ` +
        `number and PIN. ${describeOrder(deliveredTo, reprint.current, card.cardStatusCode)}`,
    call: () => ({ path: 'renew', members: { renewStep: 'RenewWithSameExpiry' } }),
  },
  convert: {
    name: 'Convert to plastic',
    done: 'The plastic is ordered, listed under Plastics, and inactive until it is activated.',
    isFor: ({ possible }) => possible.convert.possible,
    hint: ({ possible: { convert } }) =>
      convert.possible &&
      `The card gets plastic that is valid until ${convert.expiryDate}, with the same number and ` +
        `PIN. It goes to ${addressNames.address}. Chip, stripe and cash machines are declined ` +
        'until it is activated; other purchases continue.',
  },
  'cancel-renewal': {
    name: 'Cancel plastic',
    done: 'The plastic that was ordered is cancelled.',
    isFor: ({ possible }) => possible.cancelRenewal.possible,
    hint: ({ possible: { cancelRenewal } }) =>
      cancelRenewal.possible &&
      `Plastic ${cancelRenewal.plasticNumber} can never be used. The present one stays as it is.`,
    fields: ({ possible: { cancelRenewal } }, visit, action) =>
      cancelRenewal.possible && cancelRenewal.notReceived && lossField(visit, action),
    call: (form) => ({
      path: 'cancel-renewal',
      members: { notReceived: form['not-received'] === 'yes' },
    }),
  },
  'delivery-address': {
    name: 'Change delivery address',
    done: 'The delivery address is changed.',
    isFor: ({ card }) =>
      card.cardType === 'Physical' && !card.retired && !isFinal(card.cardStatusCode),
    hint: () =>
      'The next plastic goes to this address, and so does one that the bureau has not read yet. ' +
      'The address of the cardholder stays. Leave all lines empty to send plastic there.',
    fields: (_, visit, action) => addressLines.map((each) => field(visit, action, each)),
    call: (form) => ({ path: 'delivery-address', members: { fulfilment: composeAddress(form) } }),
  },
  replace: {
    name: 'Replace',
    done: 'The card is replaced.',
    isFor: ({ possible }) => possible.replace.possible,
    hint: describeNewCard,
    fields: ({ card, possible: { replace } }, visit, action) =>
      replace.possible &&
      replacementFields(card, replace.successors, readKept(visit, action, 'replacement-reason')),
    call: (form) => ({
      path: 'replace',
      members: { replacementReason: form['replacement-reason'] },
    }),
    describe: describeReplacement,
  },
}

const addressNames = {
  fulfilment: 'the delivery address on record',
  address: 'the address of the cardholder on record',
} as const

/** The lines of an address. The name of each is the path of its member in the request. */
const addressLines = [
  { name: 'fulfilment/addressLine1', label: 'Address', maxLength: 100 },
  { name: 'fulfilment/addressLine2', label: 'Address, second line', maxLength: 100 },
  { name: 'fulfilment/city', label: 'City', maxLength: 50 },
  { name: 'fulfilment/state', label: 'State', maxLength: 50 },
  { name: 'fulfilment/postCode', label: 'Postal code', maxLength: 10 },
  { name: 'fulfilment/country', label: 'Country, such as ESP', maxLength: 3 },
].map((line) => ({ ...line, isRequired: false }))

/**
 * Composes the address of a form; null if all lines are empty. Of an address, the postal code is
 * given even if it is empty.
 */
function composeAddress(form: Form): object | null {
  const typed = addressLines.map(
    ({ name }) => [name.replace('fulfilment/', ''), form[name] ?? ''] as const,
  )
  if (typed.every(([, text]) => text === '')) return null
  return Object.fromEntries(typed.filter(([member, text]) => text !== '' || member === 'postCode'))
}

const findSelf = ({ card, line }: CardFacts) =>
  line.find(({ publicToken }) => publicToken === card.publicToken)

const hasWaitingPlastic = (facts: CardFacts): boolean =>
  findSelf(facts)?.plastics.some(({ state }) => state === 'Waiting') === true

function describeActivation(facts: CardFacts): Content {
  // An active card can be activated only for the plastic of its conversion.
  if (facts.card.cardStatusCode === '00') return 'The plastic can be used at once.'
  const self = findSelf(facts)
  const open = facts.line.filter(
    ({ cardStatusCode, createdAt, retired }) =>
      self !== undefined && createdAt < self.createdAt && !retired && !isFinal(cardStatusCode),
  )
  return html`The card can be used at once.
    ${open.map(
      ({ publicToken }) =>
        html`Card ${publicToken}, which it replaces, is retired and works no longer. `,
    )}`
}

function describeOrder(
  deliveredTo: PossibleActs['deliveredTo'],
  isCurrent: boolean,
  cardStatusCode: string,
): string {
  if (deliveredTo === null || isCurrent) return 'It is valid at once.'
  const present =
    cardStatusCode === '54'
      ? 'The card stays expired until it is activated.'
      : 'The present plastic works until it is activated.'
  return `It goes to ${addressNames[deliveredTo]}. ${present}`
}

const lossField = (visit: TypedForm, action: string): Html => html`<label>
  <input type="checkbox" name="not-received" value="yes" required${
    readKept(visit, action, 'not-received') === 'yes' && html` checked`
  }>
  The plastic was made, and did not reach the cardholder
</label>`

function describeNewCard({ possible: { deliveredTo, replace } }: CardFacts): Content {
  const [successor] = replace.possible ? replace.successors : []
  if (!successor) return null
  const validity = `A new card with another number is valid until ${successor.expiryDate}.`
  return deliveredTo === null
    ? `${validity} It is active at once.`
    : `${validity} It goes to ${addressNames[deliveredTo]}, and is inactive until it is activated.`
}

function replacementFields(
  card: Card,
  successors: readonly Successor[],
  typedReason: string | undefined,
): Html {
  const [first] = successors
  const chosen =
    operatorReplacementReasons.find((each) => each === typedReason) ??
    (successors.length === 1 ? first?.replacementReason : undefined)
  return html`<fieldset>
    <legend>What happened</legend>
    ${successors.map(
      (successor) =>
        html`<label>
          <input type="radio" name="replacement-reason" value="${successor.replacementReason}"
            required${chosen === successor.replacementReason && html` checked`}>
          <span>${successor.replacementReason}
            <span class="fine">${describeEffects(card, successor)}</span>
          </span>
        </label>`,
    )}
  </fieldset>`
}

/** Describes what becomes of the replaced card, and which PIN the new one has. */
function describeEffects(card: Card, { cardStatusCode, pinMoved, retired }: Successor): string {
  const pin = pinMoved ? 'The new one has the same PIN.' : 'The new one has a new PIN.'
  if (cardStatusCode === card.cardStatusCode && isFinal(cardStatusCode)) {
    return `This card stays ${card.status.toLowerCase()}. ${pin}`
  }
  const isEnded = retired || isFinal(cardStatusCode)
  return isEnded
    ? `This card declines at once, for good. ${pin}`
    : `This card works as before until the new one is activated. ${pin}`
}

/** Leads to the new card, which the answer names. */
function describeReplacement(answer: ApiAnswer): Pick<Notice, 'lines' | 'link'> {
  const { cardStatusCode, pinMoved, publicToken } = parseAnswer(answer, SuccessorOfAnyClientSchema)
  const state = cardStatusCode === '00' ? 'It is active' : 'It is inactive until it is activated'
  const pin = pinMoved ? 'the same PIN' : 'a new PIN'
  return {
    lines: [`The card is replaced by card ${publicToken}. ${state}, and has ${pin}.`],
    link: { href: cardPath(publicToken), text: `Open card ${publicToken}` },
  }
}
