import type { AskOutcome, DecisionEndpoint } from '../../domain/decision.ts'
import type { DecisionRequest } from './compose-request.ts'

/** Asks the endpoints of clients by HTTP. */
export interface Asker {
  /**
   * Resolves with the answer, or with the reason why there is none: at the deadline at the latest.
   * Never rejects.
   */
  ask(endpoint: DecisionEndpoint, request: DecisionRequest): Promise<AskOutcome>
  /** Aborts what is in flight, and closes the connections. */
  close(): Promise<void>
}
