import { isPublicToken } from '../../domain/identifiers.ts'
import {
  type Call,
  type Command,
  given,
  neededOf,
  numberOf,
  type Options,
  type Outcome,
  textOf,
  UsageError,
  yesNoOf,
} from '../command.ts'
import { asClient } from '../connection/connection.ts'
import { readJsonFile, sheet, table } from '../output.ts'

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

const newCardOptions: Options = {
  product: { type: 'string', value: 'N', help: 'the product, from pinfold products list' },
  type: { type: 'string', value: 'TYPE', help: 'Virtual or Physical; Virtual unless given' },
  'first-name': { type: 'string', value: 'TEXT', help: 'of the cardholder' },
  'last-name': { type: 'string', value: 'TEXT', help: 'of the cardholder' },
  born: { type: 'string', value: 'YYYY-MM-DD', help: 'date of birth' },
  address: { type: 'string', value: 'TEXT', help: 'first line of the address' },
  'post-code': { type: 'string', value: 'TEXT', help: 'of the address' },
  country: { type: 'string', value: 'CODE', help: 'ISO 3166-1 alpha-3, such as ESP' },
  reference: { type: 'string', value: 'TEXT', help: "the client's own reference" },
  'activate-now': { type: 'string', value: 'yes|no', help: 'yes for Virtual, no for Physical' },
  file: { type: 'string', value: 'FILE', help: 'all of it as JSON, as POST /cards takes it' },
}

const filterOptions: Options = {
  reference: { type: 'string', value: 'TEXT', help: 'only those with this customerReference' },
  status: { type: 'string', value: 'CODE', help: 'only those with this cardStatusCode' },
}

const statusOptions: Options = {
  set: { type: 'string', value: 'CODE', help: 'the status to set: 00, 62, 41, 43, 46 or 83' },
  description: { type: 'string', value: 'TEXT', help: 'why; kept enciphered' },
}

export const cardCommands: readonly Command[] = [
  {
    words: 'cards create',
    summary: 'a card of a product, with a random PIN',
    options: newCardOptions,
    example:
      "pinfold cards create --product 1001 --first-name Ana --last-name Lim --born 1990-04-17 --address 'Calle Mayor 1' --post-code 28013 --country ESP",
    run: (call) =>
      asClient(call, async ({ ask, base }) => {
        const card = await ask<Card>('POST', `${base}/cards`, await newCardOf(call))
        return { json: card, text: sheet(card) }
      }),
  },
  {
    words: 'cards list',
    summary: "the client's cards, newest first",
    options: filterOptions,
    example: 'pinfold cards list --status 00',
    run: (call) =>
      asClient(call, async ({ base, readAll }) => {
        const filter = given({
          customerReference: textOf(call, 'reference'),
          cardStatusCode: textOf(call, 'status'),
        }) as Record<string, string>
        const cards = await readAll<Card>(`${base}/cards?${new URLSearchParams(filter)}`)
        const rows = cards.map((card) => [
          ...[card.publicToken, card.maskedPan, card.cardType, card.cardProduct, card.embossName],
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
    summary: 'a card with the status of its PIN and CVV',
    example: 'pinfold cards show 4820117360',
    run: (call) =>
      asClient(call, async ({ ask, base }) => {
        const card = await ask<Card>('GET', `${base}/cards/${tokenOf(call)}`)
        return { json: card, text: sheet(card) }
      }),
  },
  {
    words: 'cards status',
    names: ['CARD'],
    summary: 'the status of a card, or another one',
    options: statusOptions,
    example: 'pinfold cards status 4820117360 --set 62',
    run: (call) => status(call),
  },
]

async function newCardOf(call: Call): Promise<object> {
  const file = textOf(call, 'file')
  if (file !== undefined) return readJsonFile(file)
  neededOf(call, 'product')
  return given({
    cardType: textOf(call, 'type') ?? 'Virtual',
    cardProduct: numberOf(call, 'product'),
    cardHolder: {
      firstName: neededOf(call, 'first-name'),
      lastName: neededOf(call, 'last-name'),
      dateOfBirth: neededOf(call, 'born'),
    },
    address: {
      addressLine1: neededOf(call, 'address'),
      postCode: neededOf(call, 'post-code'),
      country: neededOf(call, 'country'),
    },
    customerReference: textOf(call, 'reference'),
    activateNow: yesNoOf(call, 'activate-now'),
  })
}

const status = (call: Call): Promise<Outcome> =>
  asClient(call, async ({ ask, base }) => {
    const path = `${base}/cards/${tokenOf(call)}/status`
    const cardStatusCode = textOf(call, 'set')
    if (cardStatusCode !== undefined) {
      const description = textOf(call, 'description')
      await ask('PUT', path, given({ cardStatusCode, description }))
    }
    // What is printed is what a read returns, as the specification asks.
    const read = await ask<object>('GET', path)
    return { json: read, text: sheet(read) }
  })

/** The card that was named. @throws UsageError unless it can be a card's. */
function tokenOf({ names: [name = ''] }: Call): string {
  if (isPublicToken(name)) return name
  throw new UsageError('CARD must be the publicToken of a card: ten digits.')
}

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
