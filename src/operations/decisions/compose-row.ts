import type { DecisionFacts } from '../../domain/decision.ts'
import type { OfferedRequest } from '../../storage/decisions/streams.ts'
import type { DecisionRequest } from './compose-request.ts'
import { composeHeaders } from './exchange.ts'
import { formats } from './formats.ts'
import type { DecisionSigner } from './signing.ts'
import type { ComposeRow } from './streams.ts'
import { composeWaitingRequest } from './waiting-request.ts'

interface RowOptions {
  readonly signer: Pick<DecisionSigner, 'signDecision'>
  readonly isSandbox: boolean
}

/** The parts from which every process composes the same request. */
type RequestRow = Pick<
  OfferedRequest,
  'decisionId' | 'sequence' | 'purpose' | 'facts' | 'heldAmount' | 'heldCurrencyCode' | 'deadline'
>

/** Composes and signs a request for a stream, as it would be posted to a URL. */
export const composeRows =
  ({ isSandbox, signer }: RowOptions): ComposeRow =>
  async (row) => {
    const request = toRequest(row)
    const body = formats[row.format].compose(request)
    const signed = await composeHeaders({ body, request, endpoint: row }, { signer, isSandbox })
    const headers = { ...signed, 'content-type': 'application/json', 'decision-attempt': '1' }
    return { decisionId: row.decisionId, headers, body }
  }

/** Reads the request of a stored decision. */
export const toRequest = ({ facts, purpose, ...row }: RequestRow): DecisionRequest =>
  composeWaitingRequest({ ...row, facts: JSON.parse(facts) as DecisionFacts }, purpose)
