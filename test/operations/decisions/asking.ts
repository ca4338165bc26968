import { createHmac, randomUUID } from 'node:crypto'
import type { AskOutcome, DecisionEndpoint, DecisionPurpose } from '../../../src/domain/decision.ts'
import { type Asker, createAsker } from '../../../src/operations/decisions/ask.ts'
import { createClientAsker } from '../../../src/operations/decisions/ask-client.ts'
import type { BreakerChange } from '../../../src/operations/decisions/breaker.ts'
import type { CalledAnswer } from '../../../src/operations/decisions/calls.ts'
import type { DecisionRequest } from '../../../src/operations/decisions/compose-request.ts'
import { createLanes } from '../../../src/operations/decisions/lanes.ts'
import type { DecisionSigner } from '../../../src/operations/decisions/signing.ts'
import { addressPolicy } from '../../../src/outbound/address-policy.ts'
import type { OutboundRules } from '../../../src/outbound/guarded-request.ts'
import type { HashedAnswer } from '../../../src/storage/decisions/calls.ts'
import { atEndOfFile } from '../../support/end-of-file.ts'
import { someEndpoint, someFacts } from './requests.ts'

/** An asker without a service, on the loopback of this machine. */

export const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

export type AskedSide = {
  asker: Asker
  asked: { purpose: DecisionPurpose; outcome: AskOutcome }[]
  faults: unknown[]
  late: (HashedAnswer & { request: DecisionRequest })[]
  changes: (BreakerChange & { endpoint: DecisionEndpoint })[]
  ask: (url: string | null, members?: AskMembers) => Promise<AskOutcome>
}

type AskMembers = Partial<DecisionEndpoint> & {
  decisionId?: string
  purpose?: DecisionPurpose
  partialAllowed?: boolean
  /** The answer by a call; no call comes without it. */
  called?: Promise<CalledAnswer | null>
}

const never = new Promise<null>(() => {})

const loopback = addressPolicy({ allowCidrs: ['127.0.0.0/8'], ownPorts: [], ports: null })

const signByHmac: DecisionSigner['signDecision'] = async (_clientId, id, at, body) => {
  const timestamp = String(Math.floor(at.getTime() / 1_000))
  const signed = createHmac('sha256', Buffer.alloc(32, 7)).update(`${id}.${timestamp}.${body}`)
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signed.digest('base64')}`,
  }
}

export const openAsker = (
  rules: Partial<OutboundRules> = {},
  isSandbox = true,
  signDecision: DecisionSigner['signDecision'] = signByHmac,
  now: () => number = () => performance.now(),
): AskedSide => {
  const side: Omit<AskedSide, 'asker' | 'ask'> = { asked: [], faults: [], late: [], changes: [] }
  const lanes = createLanes(
    {
      judgeAddress: loopback,
      resolve: async () => ['127.0.0.1'],
      httpsOnly: false,
      ...rules,
    },
    now,
  )
  const asker = createAsker({
    lanes,
    isSandbox,
    now: () => new Date(),
    signer: { signDecision },
    observe: {
      answeredLate: (request, late) => side.late.push({ ...late, request }),
      faulted: (error) => side.faults.push(error),
      breakerChanged: (endpoint, _request, change) => side.changes.push({ ...change, endpoint }),
    },
  })
  atEndOfFile(() => asker.close())
  return {
    ...side,
    asker,
    ask: (
      url,
      {
        called = never,
        decisionId = randomUUID(),
        partialAllowed,
        purpose = 'authorize',
        ...members
      } = {},
    ) => {
      const endpoint = someEndpoint({ url, ...members })
      const request: DecisionRequest = {
        facts: someFacts(partialAllowed === undefined ? {} : { partialAllowed }),
        reserved: {
          decisionId,
          sequence: 1,
          hold: { amount: 1_250, currency: 'EUR' },
          deadline: new Date(Date.now() + endpoint.timeoutMs),
        },
        purpose,
      }
      const askClient = createClientAsker({
        asker,
        lanes,
        answers: { wait: () => called },
        // No stream is open, and each request is taken by one of another process.
        streams: { offer: () => undefined, isTaken: async () => true },
        observe: { asked: (purpose, outcome) => side.asked.push({ purpose, outcome }) },
      })
      return askClient(endpoint, request)
    },
  }
}
