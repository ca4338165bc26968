import type { Merchant } from '../../domain/merchant.ts'
import * as cli from '../command.ts'
import { asClient } from '../connection/connection.ts'
import { formatTries, line } from '../output.ts'
import { findPrice, priceOptions } from '../price.ts'
import { parseToken } from './cards.ts'

interface Result {
  readonly result: string
  readonly remainingTries: number
}

interface Authorization {
  readonly authorizationId: string
  readonly approved: boolean
  readonly responseCode: string
  readonly pin?: Result
  readonly cvv?: Result
  readonly virtualChip?: VirtualChip
}

/** The result in the virtual chip. */
interface VirtualChip {
  readonly offlinePin: string
  readonly remainingOfflineTries: number
  readonly answerVerified: boolean
  readonly commands: readonly { readonly number: number; readonly result: string }[]
}

/** How a terminal reads a chip. */
const modesOfChips: readonly string[] = ['chip', 'contactless', 'atm']

export const simulateCommand: cli.Command = {
  words: 'simulate',
  names: ['CARD'],
  summary: 'simulates an authorization request for a card, in the sandbox',
  description:
    'A decline is an answer, too: the exit code is 0. A card with a chip needs --chip if the ' +
    'entry mode is chip,\ncontactless or atm; chip is the default with --pin. The list of ' +
    'processes shows the PIN and CVV, so use\ntest cards only.',
  options: {
    pin: {
      type: 'string',
      value: 'DIGITS',
      help: 'the PIN of the cardholder',
      pointer: '/pin',
    },
    cvv: {
      type: 'string',
      value: 'DIGITS',
      help: 'the CVV2 of the cardholder',
      pointer: '/cvv',
    },
    expiry: {
      type: 'string',
      value: 'YYYY-MM',
      help: 'the expiry of the request',
      pointer: '/expiryDate',
    },
    mode: {
      type: 'string',
      value: 'MODE',
      help: 'chip, contactless, magstripe, atm, ecommerce or moto',
      pointer: '/entryMode',
    },
    chip: {
      type: 'boolean',
      help: 'the virtual chip makes a cryptogram and takes the answer; makes one if missing',
      pointer: '/chip',
    },
    'offline-pin': {
      type: 'string',
      value: 'DIGITS',
      help: 'the PIN that the virtual chip compares itself',
      pointer: '/offlinePin',
      needs: 'chip',
    },
    ...priceOptions,
    merchant: { type: 'string', value: 'NAME', help: 'who sells', pointer: '/merchant/name' },
    mcc: {
      type: 'string',
      value: 'DIGITS',
      help: 'the merchant category code',
      pointer: '/merchant/categoryCode',
    },
  },
  connection: cli.clientConnection,
  example: 'pinfold simulate 4820117360 --pin 1234 --amount 12.34',
  run(call) {
    const isChip = call.options.chip === true
    const mode = cli.findText(call, 'mode')
    if (isChip && mode !== undefined && !modesOfChips.includes(mode)) {
      const modes = `${modesOfChips.slice(0, -1).join(', ')} or ${modesOfChips.at(-1)}`
      throw new cli.UsageError(`With --chip, --mode must be ${modes}.`)
    }
    return asClient(call, async ({ ask, base }) => {
      const answer = await ask<Authorization>(
        'POST',
        `${base}/simulator/authorizations`,
        cli.given({
          publicToken: parseToken(call),
          pin: cli.findText(call, 'pin'),
          cvv: cli.findText(call, 'cvv'),
          expiryDate: cli.findText(call, 'expiry'),
          entryMode: mode,
          chip: isChip || undefined,
          offlinePin: cli.findText(call, 'offline-pin'),
          ...findPrice(call),
          merchant: findMerchant(call),
        }),
      )
      const { approved, authorizationId, cvv, pin, responseCode, virtualChip } = answer
      const verdict = `${approved ? 'Approved' : 'Declined'}, response code ${responseCode}.`
      return {
        json: answer,
        text: [
          verdict,
          formatResult('PIN', pin),
          formatResult('CVV', cvv),
          ...(virtualChip ? formatChip(virtualChip) : []),
          // A card without a chip is never declined by 88 here.
          ...(responseCode === '88' && !isChip
            ? ['The card has a chip, which made no cryptogram. Add --chip.']
            : []),
          line`Why: pinfold authorizations show ${authorizationId}`,
        ].join('\n'),
      }
    })
  },
}

/** The merchant that the options describe; undefined where none is described. */
function findMerchant(call: cli.Call): Merchant | undefined {
  const name = cli.findText(call, 'merchant')
  const categoryCode = cli.findText(call, 'mcc')
  if (name === undefined && categoryCode === undefined) return undefined
  return cli.given({ name, categoryCode })
}

const formatResult = (name: string, result: Result | undefined): string =>
  result
    ? `${name}: ${describeResult(result.result)}, ${formatTries(result.remainingTries)}`
    : `${name}: not checked`

/** `not checked` for `not_checked`. */
const describeResult = (result: string): string => result.replaceAll('_', ' ')

/** Describes the PIN that a virtual chip compared. */
export function formatOfflinePin({
  offlinePin,
  remainingOfflineTries,
}: Pick<VirtualChip, 'offlinePin' | 'remainingOfflineTries'>): string {
  const left = formatTries(remainingOfflineTries)
  return line`PIN in the chip: ${describeResult(offlinePin)}, ${left}`
}

/** Describes the result in the virtual chip. */
const formatChip = (chip: VirtualChip): readonly string[] => [
  formatOfflinePin(chip),
  chip.answerVerified
    ? 'The chip verified the answer.'
    : 'The chip got no answer that it could verify.',
  ...chip.commands.map(
    ({ number, result }) => line`Chip command ${number}: ${describeResult(result)}`,
  ),
]
