import * as cli from '../command.ts'
import { asClient } from '../connection/connection.ts'
import { line, sheet } from '../output.ts'
import { parseToken } from './cards.ts'
import { productionOptions, readProduction } from './production-options.ts'

const replaceOptions: cli.Options = {
  reason: {
    type: 'string',
    value: 'REASON',
    help: 'Lost, Stolen, Damaged, Compromised or Upgrade; by default as the status says',
    pointer: '/reason',
  },
  product: {
    type: 'string',
    value: 'N',
    help: 'the product of the new card; by default the same',
    pointer: '/cardProduct',
  },
  'move-pin': {
    type: 'string',
    value: 'yes|no',
    help: 'whether the new card has the same PIN',
    pointer: '/movePin',
  },
  'move-expiry': {
    type: 'string',
    value: 'yes|no',
    help: 'whether the new card has the same expiry',
    pointer: '/moveExpiryDate',
  },
  expiry: {
    type: 'string',
    value: 'YYYY-MM',
    help: 'the expiry of the new card',
    pointer: '/expiryDate',
  },
  'activate-now': {
    type: 'string',
    value: 'yes|no',
    help: 'yes for Virtual, no for Physical',
    pointer: '/activateNow',
  },
  ...productionOptions,
}

export const replacementCommands: readonly cli.Command[] = [
  {
    words: 'cards replace',
    names: ['CARD'],
    summary: 'replaces a card by a new one with another number',
    options: replaceOptions,
    connection: cli.clientConnection,
    example: 'pinfold cards replace 4820117360 --reason Lost',
    run: (call) => replace(call),
  },
  {
    words: 'cards complete-replacement',
    names: ['CARD'],
    summary: 'retires a replaced card before its successor is active',
    connection: cli.clientConnection,
    example: 'pinfold cards complete-replacement 4820117360',
    run: (call) =>
      asClient(call, async ({ ask, base }) => {
        const publicToken = parseToken(call)
        await ask('PUT', `${base}/cards/${publicToken}/complete-replacement`)
        return {
          json: { publicToken },
          text: line`The replacement of card ${publicToken} is complete.`,
        }
      }),
  },
]

const replace = (call: cli.Call): Promise<cli.Outcome> =>
  asClient(call, async ({ ask, base }) => {
    const body = cli.given({
      reason: cli.findText(call, 'reason'),
      cardProduct: cli.parseNumber(call, 'product'),
      movePin: cli.parseYesNo(call, 'move-pin'),
      moveExpiryDate: cli.parseYesNo(call, 'move-expiry'),
      expiryDate: cli.findText(call, 'expiry'),
      activateNow: cli.parseYesNo(call, 'activate-now'),
      ...(await readProduction(call)),
    })
    const successor = await ask<object>('POST', `${base}/cards/${parseToken(call)}/replace`, body)
    return { json: successor, text: sheet(successor) }
  })
