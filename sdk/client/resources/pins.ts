import { CallFailed } from '../errors/call-failed.ts'
import type { ChosenPin, Note, TryStatus } from '../models.ts'
import type { Calls, ChangeOptions } from '../transport/calls.ts'
import { path } from '../transport/path.ts'
import { readAfter } from '../transport/read-after.ts'
import type { CallOptions } from '../transport/transport.ts'
import { RevealedPin } from './revealed-pin.ts'

export interface Pins {
  /** Sets the PIN that the cardholder chose. It restores no tries. Scope `pin.write`. */
  set(publicToken: string, chosen: ChosenPin, options?: ChangeOptions): Promise<void>
  /** The current PIN in clear: an act on record, and limited. Scope `pin.reveal`. */
  reveal(publicToken: string, options?: CallOptions): Promise<RevealedPin>
  /** Scope `pin.read`. */
  retrieveStatus(publicToken: string, options?: CallOptions): Promise<TryStatus>
  /** Restores the tries and answers the status that is read afterwards. Scopes `pin.write`, `pin.read`. */
  unblock(publicToken: string, note?: Note, options?: ChangeOptions): Promise<TryStatus>
}

export function pins({ get, post, reveal }: Calls): Pins {
  const retrieveStatus: Pins['retrieveStatus'] = (publicToken, options) =>
    get<'getPinStatus'>(path`/card-pin/${publicToken}/pin/status`, options)
  return {
    retrieveStatus,
    set: (publicToken, chosen, options) =>
      post<'setPin'>(path`/card-pin/${publicToken}/pin`, chosen, options),
    async reveal(publicToken, options) {
      const address = path`/card-pin/${publicToken}/pin`
      const { pin } = await reveal<'getCurrentPin'>(address, undefined, options)
      if (typeof pin !== 'string') throw new CallFailed('unexpected_answer')
      return new RevealedPin(pin)
    },
    unblock: (publicToken, note, options) =>
      readAfter(post<'unblockPin'>(path`/card-pin/${publicToken}/pin/unblock`, note, options), () =>
        retrieveStatus(publicToken, options),
      ),
  }
}
