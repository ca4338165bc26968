import { Problem } from '../errors.ts'
import { once } from '../idempotency/once.ts'
import type { Answer, RepeatableRequest } from '../idempotency/remembered.ts'
import { replaceWebhookSecret } from '../storage/webhook-secrets.ts'
import type { Caller, Issuing } from './issuing.ts'
import { drawWebhookSecret } from './webhook-record.ts'

/** Secrets that sign beside the present one: each for 24 hours, so none is ever dropped before. */
const formerMax = 5

/** A webhook's id and, the first time that it is answered, its new secret. */
export interface RotatedSecret {
  readonly webhookId: string
  readonly secret?: string
}

/**
 * Gives a webhook another secret. For 24 hours the one before it signs, too, so that receivers can
 * change over. A repeat of the request changes nothing and does not show the secret.
 * @throws `Problem` `not_found`; `rate_limited` when as many as may be sign already.
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
    const ids = [clientId, webhookId] as const
    const waitSeconds = await replaceWebhookSecret(connection, ...ids, sealed, formerMax)
    if (waitSeconds === null) throw new Problem('not_found')
    if (waitSeconds > 0) throw tooOften(waitSeconds)
    return null
  })
  return { replayed, result: replayed ? { webhookId } : { webhookId, secret } }
}

const tooOften = (retryAfterSeconds: number): Problem =>
  new Problem('rate_limited', {
    detail: `A secret may be changed ${formerMax} times in 24 hours.`,
    retryAfterSeconds,
  })
