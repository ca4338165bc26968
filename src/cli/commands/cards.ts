import { isPublicToken } from '../../domain/identifiers.ts'
import type { Merchant } from '../../domain/merchant.ts'
import * as cli from '../command.ts'
import { asClient } from '../connection/connection.ts'
import { readJsonFile } from '../files.ts'
import { formatTries, line, sheet, table } from '../output.ts'
import { findPrice, priceOptions } from '../price.ts'
import {
  cardChangeOptions,
  cardFilterOptions,
  parseCardFilter,
  parseMetadataChange,
} from './card-options.ts'
import { newCardOptions, parseNewCard } from './new-card.ts'

interface Card {
  readonly publicToken: string
  readonly maskedPan: string
  readonly cardType: string
  readonly cardProduct: number
  readonly embossName: string
  readonly expiryDate: string
  readonly cardStatusCode: string
  readonly cardStatusDescription: string
}

const statusOptions: cli.Options = {
  set: {
    type: 'string',
    value: 'CODE',
    help: 'the status to set: 00, 62, 41, 43, 46 or 83',
    pointer: '/cardStatusCode',
  },
  description: {
    type: 'string',
    value: 'TEXT',
    help: 'the reason; stored enciphered',
    needs: 'set',
    pointer: '/description',
  },
}

export const cardCommands: readonly cli.Command[] = [
  {
    words: 'cards create',
    summary: 'creates a card of a product, with a random PIN',
    options: newCardOptions,
    connection: cli.clientConnection,
    example:
      'pinfold cards create --product 1001 --first-name Ana --last-name Lim ' +
      "--born 1990-04-17 --address 'Calle Mayor 1' --post-code 28013 --country ESP",
    run: (call) =>
      asClient(call, async ({ ask, base }) => {
        const card = await ask<Card>('POST', `${base}/cards`, await parseNewCard(call))
        return { json: card, text: sheet(card) }
      }),
  },
  {
    words: 'cards list',
    summary: "lists the client's cards, newest first",
    options: { ...cardFilterOptions, ...cli.limitOption },
    connection: cli.clientConnection,
    example: 'pinfold cards list --status 00',
    run: (call) =>
      asClient(call, async ({ base, readAll }) => {
        const filter = parseCardFilter(call)
        const cards = await readAll<Card>(
          `${base}/cards?${new URLSearchParams(filter)}`,
          cli.parseLimit(call),
        )
        const rows = cards.map((card) => [
          card.publicToken,
          card.maskedPan,
          card.cardType,
          card.cardProduct,
          card.embossName,
          card.expiryDate,
          `${card.cardStatusCode} ${card.cardStatusDescription}`,
        ])
        const columns = ['CARD', 'PAN', 'TYPE', 'PRODUCT', 'NAME', 'EXPIRES', 'STATUS']
        return { json: cards, text: table(columns, rows) }
      }),
  },
  {
    words: 'cards show',
    names: ['CARD'],
    summary: 'shows a card with the status of its PIN and CVV',
    connection: cli.clientConnection,
    example: 'pinfold cards show 4820117360',
    run: (call) =>
      asClient(call, async ({ ask, base }) => {
        const card = await ask<Card>('GET', `${base}/cards/${parseToken(call)}`)
        return { json: card, text: sheet(card) }
      }),
  },
  {
    words: 'cards change',
    names: ['CARD'],
    summary: "changes members of a card's record",
    options: cardChangeOptions,
    connection: cli.clientConnection,
    example: 'pinfold cards change 4820117360 --metadata order=42',
    run: (call) =>
      asClient(call, async ({ ask, base }) => {
        const path = `${base}/cards/${parseToken(call)}`
        await ask('PATCH', path, await parseChange(call))
        const card = await ask<Card>('GET', path)
        return { json: card, text: sheet(card) }
      }),
  },
  {
    words: 'cards status',
    names: ['CARD'],
    summary: 'shows or sets the status of a card',
    options: statusOptions,
    connection: cli.clientConnection,
    example: 'pinfold cards status 4820117360 --set 62',
    run: (call) => status(call),
  },
]

/** Returns the body of a change: one key of the metadata, or what a file says. */
async function parseChange(call: cli.Call): Promise<object> {
  const metadata = parseMetadataChange(call)
  const file = cli.findText(call, 'file')
  if ((metadata === undefined) === (file === undefined)) {
    throw new cli.UsageError('Give either --file or --metadata.')
  }
  return metadata === undefined ? await readJsonFile(file ?? '') : { metadata }
}

const status = (call: cli.Call): Promise<cli.Outcome> =>
  asClient(call, async ({ ask, base }) => {
    const path = `${base}/cards/${parseToken(call)}/status`
    const cardStatusCode = cli.findText(call, 'set')
    if (cardStatusCode !== undefined) {
      const description = cli.findText(call, 'description')
      await ask('PUT', path, cli.given({ cardStatusCode, description }))
    }
    // Prints the result of a read, as the specification requires.
    const read = await ask<object>('GET', path)
    return { json: read, text: sheet(read) }
  })

/** Returns the card's token. @throws UsageError when it is malformed. */
export function parseToken({ names: [name = ''] }: cli.Call): string {
  if (isPublicToken(name)) return name
  throw new cli.UsageError('CARD must be the publicToken of a card: ten digits.')
}

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
