import { deciders, decisionPurposes } from '../../domain/decision.ts'
import * as cli from '../command.ts'
import { asClient } from '../connection/connection.ts'
import { line } from '../output.ts'

/** A decision as the service returns it. */
interface Decision {
  readonly decisionId: string
  readonly purpose: string
  readonly publicToken: string
  readonly askedAt: string
  readonly hold?: { readonly amount: number; readonly currency: string }
  readonly decidedBy?: string
  readonly decision?: string
  readonly reason?: string
  readonly error?: string
  readonly durationMs?: number
}

/** The past decisions of a client. */
export const decisionRecordCommands: readonly cli.Command[] = [
  {
    words: 'decisions list',
    summary: 'prints decisions, newest first: what was decided, and who decided',
    options: {
      card: { type: 'string', value: 'TOKEN', help: 'of this card only', pointer: '/publicToken' },
      purpose: {
        type: 'string',
        value: 'PURPOSE',
        help: `${decisionPurposes.join(', ')}; all unless given`,
        pointer: '/purpose',
      },
      'decided-by': {
        type: 'string',
        value: 'DECIDER',
        help: `${deciders.join(', ')}; all unless given`,
        pointer: '/decidedBy',
      },
      limit: {
        type: 'string',
        value: 'N',
        help: 'the number of decisions, 1 to 100',
        pointer: '/limit',
      },
    },
    connection: cli.clientConnection,
    example: 'pinfold decisions list --decided-by fallback:timeout',
    run: (call) =>
      asClient(call, async ({ ask, base }) => {
        const query = new URLSearchParams(
          cli.given({
            publicToken: cli.findText(call, 'card'),
            purpose: cli.findText(call, 'purpose'),
            decidedBy: cli.findText(call, 'decided-by'),
            limit: cli.findText(call, 'limit'),
          }) as Record<string, string>,
        )
        const json = await ask<Decision[]>('GET', `${base}/decisions?${query}`)
        return { json, text: json.map(describeDecision).join('\n') || 'No decisions.' }
      }),
  },
  {
    words: 'decisions show',
    summary: 'prints a decision with what was asked and answered',
    names: ['DECISION'],
    connection: cli.clientConnection,
    example: 'pinfold decisions show 01a207f3-05bc-71f8-97ce-911aef6582b9',
    run: (call) =>
      asClient(call, async ({ ask, base }) => {
        const id = encodeURIComponent(call.names[0] ?? '')
        const json = await ask<Decision>('GET', `${base}/decisions/${id}`)
        return { json, text: JSON.stringify(json, null, 2) }
      }),
  },
  {
    words: 'decisions replay',
    summary: 'asks the endpoint again about a past decision, and prints both outcomes',
    names: ['DECISION'],
    options: {
      'endpoint-version': {
        type: 'string',
        value: 'N',
        help: 'asks this version; what is in force unless given',
        pointer: '/version',
      },
    },
    connection: cli.clientConnection,
    example: 'pinfold decisions replay 01a207f3-05bc-71f8-97ce-911aef6582b9',
    run: (call) =>
      asClient(call, async ({ ask, base }) => {
        const version = cli.findText(call, 'endpoint-version')
        const query = version === undefined ? '' : `?${new URLSearchParams({ version })}`
        const path = `${base}/decisions/${encodeURIComponent(call.names[0] ?? '')}/replay`
        type Replay = { readonly original: Decision; readonly replay: Decision }
        const json = await ask<Replay>('POST', `${path}${query}`)
        const { original, replay } = json
        return {
          json,
          text: `then  ${describeDecision(original)}\nnow   ${describeDecision(replay)}`,
        }
      }),
  },
]

function describeDecision(decision: Decision): string {
  const { askedAt, decidedBy = 'no answer', decisionId, durationMs = 0, hold } = decision
  const { publicToken, purpose, reason = '' } = decision
  const amount = hold ? `${hold.amount} ${hold.currency}` : '-'
  const verdict = decision.decision ?? decision.error ?? 'waiting'
  const outcome = `${verdict} ${reason}`.trim()
  const subject = line`${askedAt}  ${decisionId}  ${publicToken}  ${purpose}  ${amount}`
  return line`${subject}  ${outcome} by ${decidedBy}, ${durationMs} ms`
}
