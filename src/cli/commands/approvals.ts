import * as cli from '../command.ts'
import { asAdministrator } from '../connection/connection.ts'
import { sheet, table } from '../output.ts'

interface Approval {
  readonly approvalId: string
  readonly kind: string
  readonly state: string
  readonly method: string
  readonly path: string
  readonly reason: string | null
  readonly requestedBy: Party
  readonly requestedAt: string
  readonly decidedBy: Party | null
}

interface Party {
  readonly id: string
  readonly name: string | null
}

const describeParty = (party: Party | null): string => party?.name ?? party?.id ?? '-'

const reason = {
  reason: { type: 'string', value: 'TEXT', help: 'the reason; it is recorded', pointer: '/reason' },
} as const

const headings = [
  'APPROVAL',
  'STATE',
  'KIND',
  'REQUEST',
  'ASKED BY',
  'AT',
  'DECIDED BY',
  'REASON',
] as const

/** Requests that need an approval. A person approves with `--as-person`. */
export const approvalCommands: readonly cli.Command[] = [
  {
    words: 'approvals list',
    summary: 'lists the requests for approval, with their outcomes',
    options: {
      ...cli.limitOption,
      state: {
        type: 'string',
        value: 'STATE',
        help: 'waiting, approved, done, failed, refused, withdrawn, expired or stale',
        pointer: '/state',
      },
    },
    example: 'pinfold approvals list --state waiting',
    run: (call) =>
      asAdministrator(call, async ({ readAll }) => {
        const state = cli.findText(call, 'state')
        const query = state === undefined ? '' : `?state=${encodeURIComponent(state)}`
        const approvals = await readAll<Approval>(`/approvals${query}`, cli.parseLimit(call))
        const rows = approvals.map((approval) => [
          approval.approvalId,
          approval.state,
          approval.kind,
          `${approval.method} ${approval.path}`,
          describeParty(approval.requestedBy),
          approval.requestedAt.slice(0, 19),
          describeParty(approval.decidedBy),
          approval.reason ?? '-',
        ])
        return { json: approvals, text: table(headings, rows) }
      }),
  },
  {
    words: 'approvals show',
    names: ['APPROVAL'],
    summary: 'shows an approval, with its exact payload and hash',
    example: 'pinfold approvals show 0b6f1f5e-3c0e-4a55-9d36-2f5f0a9c7d11',
    run: (call) => decide(call, 'GET', ''),
  },
  {
    words: 'approvals approve',
    names: ['APPROVAL'],
    summary: 'approves the request of another person or of a client',
    description:
      'Needs a person who signed in within the last five minutes. Run approvals show first, and ' +
      'give the hash that it prints.',
    options: {
      'payload-hash': {
        type: 'string',
        value: 'HEX',
        help: 'the hash of the payload',
        pointer: '/payloadHash',
      },
    },
    example:
      'pinfold approvals approve 0b6f1f5e-3c0e-4a55-9d36-2f5f0a9c7d11 --payload-hash 9f2c… ' +
      '--as-person',
    run: async (call) =>
      decide(call, 'POST', '/approve', { payloadHash: cli.requireText(call, 'payload-hash') }),
  },
  {
    words: 'approvals refuse',
    names: ['APPROVAL'],
    summary: 'refuses a request',
    options: reason,
    example:
      "pinfold approvals refuse 0b6f1f5e-3c0e-4a55-9d36-2f5f0a9c7d11 --reason 'Unknown requester'",
    run: async (call) =>
      decide(call, 'POST', '/refuse', { reason: cli.requireText(call, 'reason') }),
  },
  {
    words: 'approvals withdraw',
    names: ['APPROVAL'],
    summary: 'withdraws your own request',
    example: 'pinfold approvals withdraw 0b6f1f5e-3c0e-4a55-9d36-2f5f0a9c7d11',
    run: (call) => decide(call, 'POST', '/withdraw', {}),
  },
  {
    words: 'approvals break-glass',
    names: ['APPROVAL'],
    summary: 'executes your own request in an emergency; the audit log records it as such',
    options: reason,
    example:
      "pinfold approvals break-glass 0b6f1f5e-3c0e-4a55-9d36-2f5f0a9c7d11 --reason 'No other " +
      "approver is reachable'",
    run: async (call) =>
      decide(call, 'POST', '/break-glass', { reason: cli.requireText(call, 'reason') }),
  },
]

const decide = (call: cli.Call, method: string, act: string, body?: object): Promise<cli.Outcome> =>
  asAdministrator(call, async ({ ask }) => {
    const path = `/approvals/${encodeURIComponent(call.names[0] ?? '')}${act}`
    const { requestedBy, decidedBy, ...approval } = await ask<Approval>(method, path, body)
    const people = { requestedBy: describeParty(requestedBy), decidedBy: describeParty(decidedBy) }
    return {
      json: { ...approval, requestedBy, decidedBy },
      text: sheet({ ...approval, ...people }),
    }
  })
