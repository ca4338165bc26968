import { isPublicToken } from '../../domain/identifiers.ts'
import * as cli from '../command.ts'
import { asClient } from '../connection/connection.ts'
import { readJsonFile } from '../files.ts'
import { sheet, table } from '../output.ts'
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
