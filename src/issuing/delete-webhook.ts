import { Problem } from '../errors.ts'
import { deleteWebhook as deleteStoredWebhook } from '../storage/webhooks.ts'
import type { Caller, Issuing } from './issuing.ts'

/** Removes the caller's webhook; what is pending for it is given up. @throws `Problem` `not_found`. */
export async function deleteWebhook(
  { database }: Issuing,
  { clientId }: Caller,
  webhookId: string,
): Promise<void> {
  if (!(await deleteStoredWebhook(database, clientId, webhookId))) throw new Problem('not_found')
}
