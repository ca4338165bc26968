import type { RenewalJob, RequestRenewals } from '../models.ts'
import type { Calls, ChangeOptions } from '../transport/calls.ts'
import { type CallOptions, path } from '../transport/transport.ts'

/** Renewals of all cards of a product that expire before a day. */
export interface Renewals {
  /** Begins in the background; with `dryRun`, only counts. Scope `cards.write`. */
  request(renewals: RequestRenewals, options?: ChangeOptions): Promise<RenewalJob>
  /** The counts of a job so far. Scope `cards.read`. */
  retrieve(jobId: string, options?: CallOptions): Promise<RenewalJob>
}

export const renewals = ({ get, post }: Calls): Renewals => ({
  request: (body, options) => post<'requestRenewals'>(path`/renewals`, body, options),
  retrieve: (jobId, options) => get<'findRenewals'>(path`/renewals/${jobId}`, options),
})
