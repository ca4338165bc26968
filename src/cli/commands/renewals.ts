import * as cli from '../command.ts'
import { asClient } from '../connection/connection.ts'
import { line, sheet } from '../output.ts'
import { parseToken } from './cards.ts'
import * as production from './production-options.ts'

export const renewalCommands: readonly cli.Command[] = [
  {
    words: 'cards renew',
    names: ['CARD'],
    summary: 'orders the next plastic of a card, or makes it current',
    description: 'The number, the PIN and the tries stay. A virtual card is renewed at once.',
    options: {
      step: {
        type: 'string',
        value: 'STEP',
        help: 'Renew (the default), Migrate or RenewWithSameExpiry',
        pointer: '/renewStep',
      },
      expiry: {
        type: 'string',
        value: 'YYYY-MM',
        help: "of the plastic; by default the product's validity after the present one",
        pointer: '/expiryDate',
      },
      'activate-now': {
        type: 'string',
        value: 'yes|no',
        help: 'whether the plastic is current at once; by default no',
        pointer: '/activateNow',
      },
      ...production.textOptions,
    },
    connection: cli.clientConnection,
    example: 'pinfold cards renew 4820117360 --step Migrate',
    run: (call) =>
      asClient(call, async ({ ask, base }) => {
        const publicToken = parseToken(call)
        const body = cli.given({
          renewStep: cli.findText(call, 'step'),
          expiryDate: cli.findText(call, 'expiry'),
          activateNow: cli.parseYesNo(call, 'activate-now'),
          ...production.pickTexts(call),
        })
        await ask('POST', `${base}/cards/${publicToken}/renew`, body)
        const card = await ask<object>('GET', `${base}/cards/${publicToken}`)
        return { json: card, text: sheet(card) }
      }),
  },
  {
    words: 'cards cancel-renewal',
    names: ['CARD'],
    summary: 'cancels the plastic that was ordered, until it is produced',
    options: {
      'not-received': {
        type: 'boolean',
        help: 'it was produced, and did not reach the cardholder',
        pointer: '/notReceived',
      },
    },
    connection: cli.clientConnection,
    example: 'pinfold cards cancel-renewal 4820117360',
    run: (call) =>
      asClient(call, async ({ ask, base }) => {
        const publicToken = parseToken(call)
        const query = call.options['not-received'] === true ? '?notReceived=true' : ''
        await ask('DELETE', `${base}/cards/${publicToken}/renewal${query}`)
        const text = line`The renewal of card ${publicToken} is cancelled.`
        return { json: { publicToken }, text }
      }),
  },
  {
    words: 'cards convert',
    names: ['CARD'],
    summary: 'gives a virtual card plastic',
    description: 'The card works on. Its chip and its stripe work once the plastic is activated.',
    options: production.productionOptions,
    connection: cli.clientConnection,
    example: 'pinfold cards convert 4820117360',
    run: (call) =>
      asClient(call, async ({ ask, base }) => {
        const given = await production.readProduction(call)
        const body = cli.given({ cardType: 'Physical', ...given })
        const path = `${base}/cards/${parseToken(call)}/card-type`
        const card = await ask<object>('PUT', path, body)
        return { json: card, text: sheet(card) }
      }),
  },
]
