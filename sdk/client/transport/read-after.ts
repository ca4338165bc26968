import { CallFailed } from '../errors/call-failed.ts'

/**
 * Makes a change and answers what the status read says afterwards, as the specification asks: what is
 * shown to a cardholder is what was read, never what was hoped for.
 * @throws CallFailed `status_unknown` when the change was made and the read failed, which is its cause.
 */
export async function readAfter<Status>(
  change: Promise<unknown>,
  read: () => Promise<Status>,
): Promise<Status> {
  await change
  try {
    return await read()
  } catch (cause) {
    throw new CallFailed('status_unknown', { cause })
  }
}
