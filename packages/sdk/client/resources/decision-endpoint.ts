import type {
  DecisionEndpoint,
  RegisteredDecisionEndpoint,
  RotatedDecisionKeys,
  SetDecisionEndpoint,
} from '../models.ts'
import type { Calls, ChangeOptions } from '../transport/calls.ts'
import { type CallOptions, path } from '../transport/transport.ts'

/** Which endpoint: of one product, or without it the one for all products. */
export interface OfProduct {
  readonly productId?: number | undefined
}

/** Where the client decides its authorizations. All methods need the scope `decisions.write`. */
export interface DecisionEndpoints {
  get(of?: OfProduct, options?: CallOptions): Promise<DecisionEndpoint>
  /**
   * Registers a draft, which is not asked before it is activated. Absent members get their default.
   * The first answer contains the HMAC secret, only once.
   */
  set(
    settings: SetDecisionEndpoint,
    of?: OfProduct,
    options?: ChangeOptions,
  ): Promise<RegisteredDecisionEndpoint>
  /** Puts the draft in force, after it answered a ping. @throws DecisionPingFailed */
  activate(of?: OfProduct, options?: ChangeOptions): Promise<DecisionEndpoint>
  /** Puts the previous version in force at once. @throws DecisionVersionConflict */
  rollback(of?: OfProduct, options?: ChangeOptions): Promise<DecisionEndpoint>
  /** Old and new keys both sign for 24 hours. */
  rotateSecret(options?: ChangeOptions): Promise<RotatedDecisionKeys>
  /** Nobody is asked from then on; with `mode` `shadow`, only the shadow ends. */
  remove(of?: OfProduct & { readonly mode?: 'shadow' }, options?: CallOptions): Promise<void>
}

export const decisionEndpoint = (calls: Calls): DecisionEndpoints => ({
  get: (of, options) =>
    calls.get<'findDecisionEndpoint'>(path`/decision-endpoint`, { ...options, query: query(of) }),
  set: (settings, of, options) =>
    calls.put<'setDecisionEndpoint'>(path`/decision-endpoint`, settings, {
      ...options,
      query: query(of),
    }),
  activate: (of, options) =>
    calls.post<'activateDecisionEndpoint'>(
      path`/decision-endpoint/activate`,
      {},
      { ...options, query: query(of) },
    ),
  rollback: (of, options) =>
    calls.post<'rollBackDecisionEndpoint'>(
      path`/decision-endpoint/rollback`,
      {},
      { ...options, query: query(of) },
    ),
  rotateSecret: (options) =>
    calls.post<'rotateDecisionSecret'>(path`/decision-endpoint/rotate-secret`, {}, options),
  remove: (of, options) =>
    calls.delete(path`/decision-endpoint`, {
      ...options,
      query: { ...query(of), mode: of?.mode },
    }),
})

const query = ({ productId }: OfProduct = {}) => ({ productId })
