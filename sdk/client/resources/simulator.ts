import type { Authorization, Simulate } from '../models.ts'
import type { Calls, ChangeOptions } from '../transport/calls.ts'
import { path } from '../transport/path.ts'

/** In the sandbox only. */
export interface Simulator {
  /** Plays the card network: what it tries costs tries. Scope `simulator.write`. */
  authorize(tried: Simulate, options?: ChangeOptions): Promise<Authorization>
}

export const simulator = ({ post }: Calls): Simulator => ({
  authorize: (tried, options) =>
    post<'simulateAuthorization'>(path`/simulator/authorizations`, tried, options),
})
