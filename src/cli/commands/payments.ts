import { formatMoney } from '../../domain/money.ts'
import * as cli from '../command.ts'
import { asClient } from '../connection/connection.ts'
import { line, sheet, table } from '../output.ts'
import { parseToken } from './cards.ts'

interface Message {
  readonly message: string
  readonly effect: string
  readonly applied: number
}

interface Payment {
  readonly paymentId: string
  readonly publicToken: string
  readonly state: string
  readonly currency: string
  readonly approved: number
  readonly reversed: number
  readonly cleared: number
  readonly refunded: number
  readonly open: number
  readonly openedAt: string
  readonly merchant?: { readonly name?: string; readonly categoryCode?: string }
}

/** Commands that show the held and the moved amounts of the client's cards. */
export const paymentCommands: readonly cli.Command[] = [
  {
    words: 'payments list',
    summary: 'what cards hold and what has moved, newest first',
    options: {
      card: { type: 'string', value: 'CARD', help: 'only those of this card' },
      ...cli.limitOption,
    },
    connection: cli.clientConnection,
    example: 'pinfold payments list --limit 20',
    run(call) {
      const card = cli.findText(call, 'card')
      const path = card === undefined ? '' : `/cards/${parseToken({ ...call, names: [card] })}`
      return asClient(call, async ({ base, readAll }) => {
        const json = await readAll<Payment>(`${base}${path}/payments`, cli.parseLimit(call))
        const rows = json.map((each) => [
          each.openedAt,
          each.publicToken,
          each.state,
          formatMoney({ amount: each.open, currency: each.currency }),
          formatMoney({ amount: each.cleared, currency: each.currency }),
          each.merchant?.name ?? '',
          each.paymentId,
        ])
        const columns = ['OPENED', 'CARD', 'STATE', 'OPEN', 'CLEARED', 'MERCHANT', 'PAYMENT']
        return { json, text: table(columns, rows) }
      })
    },
  },
  {
    words: 'payments show',
    names: ['PAYMENT'],
    summary: 'the sums of a payment, and the messages that changed it',
    connection: cli.clientConnection,
    example: 'pinfold payments show 01a207f1-05bc-71f8-97ce-911aef6582b9',
    run: (call) =>
      asClient(call, async ({ ask, base }) => {
        const [id = ''] = call.names
        const path = `${base}/payments/${encodeURIComponent(id)}`
        const json = await ask<Payment & { readonly messages: readonly Message[] }>('GET', path)
        const { merchant, messages, ...members } = json
        const changes = messages.map(
          ({ applied, effect, message }) => line`${message} ${effect} ${String(applied)}`,
        )
        return {
          json,
          text: sheet({ ...members, merchant: merchant?.name ?? '', messages: changes.join(', ') }),
        }
      }),
  },
]
