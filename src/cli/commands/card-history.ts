import * as cli from '../command.ts'
import { asClient } from '../connection/connection.ts'
import { table } from '../output.ts'
import { parseToken } from './cards.ts'

interface CardOfHistory {
  readonly publicToken: string
  readonly maskedPan: string
  readonly cardStatusCode: string
  readonly cardStatusDescription: string
  readonly retired: boolean
  readonly reason?: string
  readonly plastics: readonly Plastic[]
}

interface Plastic {
  readonly plasticNumber: number
  readonly cardType: string
  readonly reason: string
  readonly state: string
  readonly expiryDate: string
  readonly deliveryStatus?: string
}

export const historyCommands: readonly cli.Command[] = [
  {
    words: 'cards history',
    names: ['CARD'],
    summary: 'lists the cards that replaced each other, with their plastics',
    options: cli.limitOption,
    connection: cli.clientConnection,
    example: 'pinfold cards history 4820117360',
    run: (call) =>
      asClient(call, async ({ base, readAll }) => {
        const cards = await readAll<CardOfHistory>(
          `${base}/cards/${parseToken(call)}/history`,
          cli.parseLimit(call),
        )
        const columns = ['CARD', 'PAN', 'STATUS', 'PLASTIC', 'TYPE', 'MADE FOR', 'STATE']
        return {
          json: cards,
          text: table([...columns, 'EXPIRES', 'DELIVERY'], cards.flatMap(listRows)),
        }
      }),
  },
]

/** One row for each plastic of a card. */
const listRows = (card: CardOfHistory) =>
  card.plastics.map((plastic) => [
    card.publicToken,
    card.maskedPan,
    `${card.cardStatusCode} ${card.retired ? 'Retired' : card.cardStatusDescription}`,
    plastic.plasticNumber,
    plastic.cardType,
    // The first plastic of a successor was made for its replacement.
    plastic.plasticNumber === 0 && card.reason !== undefined ? card.reason : plastic.reason,
    plastic.state,
    plastic.expiryDate,
    plastic.deliveryStatus ?? '–',
  ])
