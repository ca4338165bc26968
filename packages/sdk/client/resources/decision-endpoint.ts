import type {
  DecisionEndpoint,
  RegisteredDecisionEndpoint,
  RotatedDecisionKeys,
  SetDecisionEndpoint,
} from '../models.ts'
import type { Calls, ChangeOptions } from '../transport/calls.ts'
import { type CallOptions, path } from '../transport/transport.ts'

/** Selects the endpoint of a product; without a product, that for all products. */
export interface EndpointQuery {
  readonly productId?: number | undefined
}

/**
 * The endpoint that decides the client's authorizations. All methods need the scope
 * `decisions.write`.
 */
export interface DecisionEndpoints {
  retrieve(query?: EndpointQuery, options?: CallOptions): Promise<DecisionEndpoint>
  /**
   * Registers a draft, which is not asked before it is activated. Absent members get their default.
   * The first answer contains the HMAC secret, only once.
   */
  set(
    settings: SetDecisionEndpoint,
    query?: EndpointQuery,
    options?: ChangeOptions,
  ): Promise<RegisteredDecisionEndpoint>
  /** Puts the draft in force, after it answered a ping. @throws DecisionPingFailed */
  activate(query?: EndpointQuery, options?: ChangeOptions): Promise<DecisionEndpoint>
  /** Puts the previous version in force at once. @throws DecisionVersionConflict */
  rollback(query?: EndpointQuery, options?: ChangeOptions): Promise<DecisionEndpoint>
  /** Old and new keys both sign for 24 hours. */
  rotateSecret(options?: ChangeOptions): Promise<RotatedDecisionKeys>
  /** The checks alone decide from then on; with `mode` `shadow`, only the shadow ends. */
  remove(query?: EndpointQuery & { readonly mode?: 'shadow' }, options?: CallOptions): Promise<void>
}

export const decisionEndpoint = (calls: Calls): DecisionEndpoints => ({
  retrieve: (query, options) =>
    calls.get<'findDecisionEndpoint'>(path`/decision-endpoint`, select(query, options)),
  set: (settings, query, options) =>
    calls.put<'setDecisionEndpoint'>(path`/decision-endpoint`, settings, select(query, options)),
  activate: (query, options) =>
    calls.post<'activateDecisionEndpoint'>(
      path`/decision-endpoint/activate`,
      {},
      select(query, options),
    ),
  rollback: (query, options) =>
    calls.post<'rollBackDecisionEndpoint'>(
      path`/decision-endpoint/rollback`,
      {},
      select(query, options),
    ),
  rotateSecret: (options) =>
    calls.post<'rotateDecisionSecret'>(path`/decision-endpoint/rotate-secret`, {}, options),
  remove: (query, options) => calls.delete(path`/decision-endpoint`, select(query, options)),
})

/** Adds the query of an endpoint to the options of a call. */
const select = (
  { mode, productId }: Parameters<DecisionEndpoints['remove']>[0] = {},
  options: ChangeOptions = {},
) => ({ ...options, query: { productId, mode } })
