import type { Merchant } from '../../domain/merchant.ts'
import { describeTransaction, type TransactionMembers } from '../../domain/transaction.ts'
import * as cli from '../command.ts'
import { asClient } from '../connection/connection.ts'
import { line, print, sheet, table } from '../output.ts'
import { parseToken } from './cards.ts'
import { followEvents, followOptions } from './events.ts'

interface Check {
  readonly check: string
  readonly result: string
  /** Of the check `decision`. */
  readonly decidedBy?: string
  readonly reason?: string
  /** Of a chip: the transaction counter, and what was found. */
  readonly atc?: number
  readonly findings?: readonly string[]
}

interface Authorization extends TransactionMembers {
  readonly authorizationId: string
  readonly publicToken: string
  readonly approved: boolean
  readonly responseCode: string
  readonly declineReason?: string
  readonly entryMode: string
  readonly reference: string
  readonly decidedAt: string
  readonly checks: readonly Check[]
}

/** `Approved 00`, or `Declined 55 wrong_pin`. */
const describeAnswer = (
  approved: boolean,
  { declineReason, responseCode }: Pick<Authorization, 'declineReason' | 'responseCode'>,
): string =>
  [approved ? 'Approved' : 'Declined', responseCode, declineReason].filter(Boolean).join(' ')

/**
 * `pin passed`, `decision failed (endpoint: insufficient_funds)`, or
 * `cryptogram passed (atc 12, atc_jump)`.
 */
function describeCheck({ atc, check, decidedBy, findings = [], reason, result }: Check): string {
  const decided = [decidedBy, reason].filter((part) => part !== undefined).join(': ')
  const counted = atc === undefined ? '' : `atc ${atc}`
  const cause = [decided, counted, ...findings].filter((part) => part !== '').join(', ')
  return line`${check} ${result}${cause === '' ? '' : ` (${cause})`}`
}

/** The members of a merchant that the line of the transaction does not show. */
const describeMerchant = ({ city, country, id, terminalId }: Merchant) => ({
  ...(id !== undefined && { merchantId: id }),
  ...(terminalId !== undefined && { terminalId }),
  ...(city !== undefined && { city }),
  ...(country !== undefined && { country }),
})

/** Approvals and declines of the client's cards. */
export const authorizationCommands: readonly cli.Command[] = [
  {
    words: 'authorizations list',
    summary: 'approvals and declines with their reasons, newest first',
    options: {
      card: { type: 'string', value: 'CARD', help: 'only those of this card' },
      ...cli.limitOption,
    },
    connection: cli.clientConnection,
    example: 'pinfold authorizations list --limit 20',
    run(call) {
      const card = cli.findText(call, 'card')
      const path = card === undefined ? '' : `/cards/${parseToken({ ...call, names: [card] })}`
      return asClient(call, async ({ base, readAll }) => {
        const json = await readAll<Authorization>(
          `${base}${path}/authorizations`,
          cli.parseLimit(call),
        )
        const rows = json.map((each) => [
          each.decidedAt,
          each.publicToken,
          describeAnswer(each.approved, each),
          describeTransaction(each),
          each.entryMode,
          each.reference,
          each.authorizationId,
        ])
        const columns = [
          'DECIDED',
          'CARD',
          'ANSWER',
          'TRANSACTION',
          'ENTRY MODE',
          'REFERENCE',
          'AUTHORIZATION',
        ]
        return { json, text: table(columns, rows) }
      })
    },
  },
  {
    words: 'authorizations show',
    names: ['AUTHORIZATION'],
    summary: 'why an authorization was approved or declined, check by check',
    connection: cli.clientConnection,
    example: 'pinfold authorizations show 01a207f1-05bc-71f8-97ce-911aef6582b9',
    run: (call) =>
      asClient(call, async ({ ask, base }) => {
        const [id = ''] = call.names
        const path = `${base}/authorizations/${encodeURIComponent(id)}`
        const json = await ask<Authorization>('GET', path)
        const { checks, merchant = {}, ...others } = json
        const {
          amount: _,
          billingAmount: __,
          billingCurrency: ___,
          currency: ____,
          ...members
        } = others
        const verdicts = checks.map(describeCheck)
        return {
          json,
          text: sheet({
            transaction: describeTransaction(json),
            ...describeMerchant(merchant),
            ...members,
            checks: verdicts.join(', '),
          }),
        }
      }),
  },
  {
    words: 'authorizations follow',
    summary: 'prints approvals and declines as they occur, until it is stopped',
    description:
      'It follows events, so the client needs events.read. With --json each is one line.',
    options: followOptions,
    connection: cli.clientConnection,
    example: 'pinfold authorizations follow',
    run: (call) =>
      asClient(call, async (service) => {
        const types = 'authorization.approved,authorization.declined'
        await followEvents(service, call, types, async (event) =>
          print(call.options.json ? event : formatAnswer(event)),
        )
        return null
      }),
  },
]

function formatAnswer(text: string): string {
  const { data, timestamp, type } = JSON.parse(text) as {
    type: string
    timestamp: string
    data: Omit<Authorization, 'approved' | 'decidedAt' | 'checks'>
  }
  const answer = describeAnswer(type === 'authorization.approved', data)
  const { authorizationId, entryMode, publicToken, reference } = data
  const presented = line`${entryMode}  ${reference}  ${authorizationId}`
  const said = [answer, describeTransaction(data)].filter(Boolean).join('  ')
  return line`${timestamp}  ${publicToken}  ${said}  ${presented}`
}
