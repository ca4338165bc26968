import { Problem } from '../errors.ts'
import { once } from '../idempotency/once.ts'
import type { Answer, RepeatableRequest } from '../idempotency/remembered.ts'
import { replaceWebhookSecret } from '../storage/webhooks.ts'
import type { Caller, Issuing } from './issuing.ts'
import { drawWebhookSecret } from './webhook-record.ts'

/** A webhook's id and, the first time that it is answered, its new secret. */
export interface RotatedSecret {
  readonly webhookId: string
  readonly secret?: string
}

/**
 * Gives a webhook another secret. For 24 hours both sign, so that receivers can change over. A repeat
 * of the request changes nothing and does not show the secret.
 * @throws `Problem` `not_found`.
 */
export async function rotateWebhookSecret(
  issuing: Issuing,
  { clientId }: Caller,
  webhookId: string,
  request: RepeatableRequest | null,
): Promise<Answer<RotatedSecret>> {
  const secret = drawWebhookSecret()
  const { replayed } = await once(issuing, request, async (connection) => {
    const sealed = await issuing.hsm.sealRecord('webhook-secret', webhookId, secret)
    if (!(await replaceWebhookSecret(connection, clientId, webhookId, sealed))) {
      throw new Problem('not_found')
    }
    return null
  })
  return { replayed, result: replayed ? { webhookId } : { webhookId, secret } }
}
