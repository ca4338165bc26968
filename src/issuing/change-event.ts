import type { EventType, NewEvent } from '../storage/events.ts'
import type { Caller, ChangeNote, Issuing } from './issuing.ts'

/** The event of a change, with the client's note sealed beside it. */
export async function changeEvent(
  { hsm }: Pick<Issuing, 'hsm'>,
  caller: Caller,
  publicToken: string,
  type: EventType,
  { details = {}, note = {} }: { details?: NewEvent['details']; note?: ChangeNote } = {},
): Promise<NewEvent> {
  const isNoted = note.description !== undefined || note.updatedBy !== undefined
  return {
    publicToken,
    type,
    requestId: caller.requestId,
    details,
    note: isNoted ? await hsm.sealRecord('note', publicToken, JSON.stringify(note)) : null,
  }
}
