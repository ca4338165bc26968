import { type Command, given, textOf } from '../command.ts'
import { asClient } from './asking.ts'
import { tokenOf } from './cards.ts'

interface Result {
  readonly result: string
  readonly remainingTries: number
}

interface Authorization {
  readonly approved: boolean
  readonly responseCode: string
  readonly pin?: Result
  readonly cvv?: Result
}

export const simulateCommand: Command = {
  words: 'simulate',
  names: ['CARD'],
  summary: 'plays the card network against a card, in the sandbox',
  description:
    'A card that is declined is an answer, too: the exit code is 0. PIN and CVV are seen in the list of\nprocesses, so give none but those of test cards.',
  options: {
    pin: { type: 'string', value: 'DIGITS', help: 'the PIN that is typed at the terminal' },
    cvv: { type: 'string', value: 'DIGITS', help: 'the CVV2 that is typed at the shop' },
    expiry: { type: 'string', value: 'YYYY-MM', help: 'the expiry that is given' },
    mode: {
      type: 'string',
      value: 'MODE',
      help: 'chip, contactless, magstripe, atm, ecommerce or moto',
    },
  },
  example: 'pinfold simulate 4820117360 --pin 1234',
  run: (call) =>
    asClient(call, async ({ ask, base }) => {
      const answer = await ask<Authorization>(
        'POST',
        `${base}/simulator/authorizations`,
        given({
          publicToken: tokenOf(call),
          pin: textOf(call, 'pin'),
          cvv: textOf(call, 'cvv'),
          expiryDate: textOf(call, 'expiry'),
          entryMode: textOf(call, 'mode'),
        }),
      )
      const { approved, cvv, pin, responseCode } = answer
      const verdict = `${approved ? 'Approved' : 'Declined'}, response code ${responseCode}.`
      return { json: answer, text: [verdict, lineOf('PIN', pin), lineOf('CVV', cvv)].join('\n') }
    }),
}

const lineOf = (name: string, result: Result | undefined): string =>
  result
    ? `${name}: ${result.result}, ${result.remainingTries} tries left`
    : `${name}: not looked at`
