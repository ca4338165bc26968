import type { Note, TryStatus } from '../models.ts'
import type { Calls, ChangeOptions } from '../transport/calls.ts'
import { path } from '../transport/path.ts'
import { readAfter } from '../transport/read-after.ts'
import type { CallOptions } from '../transport/transport.ts'

export interface Cvvs {
  /** Scope `cvv.read`. */
  retrieveStatus(publicToken: string, options?: CallOptions): Promise<TryStatus>
  /** Restores the tries and answers the status that is read afterwards. Scopes `cvv.write`, `cvv.read`. */
  unblock(publicToken: string, note?: Note, options?: ChangeOptions): Promise<TryStatus>
  /** Blocks at once and answers the status that is read afterwards. Scopes `cvv.write`, `cvv.read`. */
  block(publicToken: string, note?: Note, options?: ChangeOptions): Promise<TryStatus>
}

export function cvvs({ get, put }: Calls): Cvvs {
  const retrieveStatus: Cvvs['retrieveStatus'] = (publicToken, options) =>
    get<'getCvvStatus'>(path`/card-cvv/${publicToken}/cvv/status`, options)
  const moveTo =
    (status: TryStatus['status']): Cvvs['unblock'] =>
    (publicToken, note, options) => {
      const address = path`/card-cvv/${publicToken}/cvv/status`
      const change = put<'updateCvvStatus'>(address, { ...note, status }, options)
      return readAfter(change, () => retrieveStatus(publicToken, options))
    }
  return { retrieveStatus, unblock: moveTo('Unblocked'), block: moveTo('Blocked') }
}
