import { type Connection, firstRow, statement } from '../engine/database.ts'

const lockSecretStatement = statement(
  'lock_webhook_secret',
  `select webhook_id as "webhookId" from webhook
   where client_id = $1 and webhook_id = $2 and deleted_at is null for update`,
)

const waitStatement = statement(
  'wait_for_former_secret',
  `select greatest(1, ceil(extract(epoch from signs_until - now())))::integer as "seconds"
   from webhook_former_secret
   where client_id = $1 and webhook_id = $2 and signs_until > now()
   order by signs_until desc offset $3 limit 1`,
)

const keepStatement = statement(
  'keep_former_secret',
  `insert into webhook_former_secret (client_id, webhook_id, secret, signs_until)
   select client_id, webhook_id, secret, now() + interval '24 hours' from webhook
   where client_id = $1 and webhook_id = $2`,
)

const replaceStatement = statement(
  'replace_webhook_secret',
  `with replaced as (
     update webhook set secret = $3 where client_id = $1 and webhook_id = $2 returning webhook_id
   )
   update delivery_queue set arrivals = arrivals + 1, due_at = now()
   where client_id = $1 and webhook_id in (select webhook_id from replaced)`,
)

interface SecretReplacement {
  /** Sealed. */
  readonly secret: Uint8Array
  /** How many sign beside the present one. */
  readonly formerMax: number
}

/**
 * Signs with another secret, and for 24 hours with the one before it, too. In a transaction.
 * @returns 0, or the seconds until there is room for one more; null where there is no such webhook.
 */
export async function replaceWebhookSecret(
  connection: Connection,
  clientId: string,
  webhookId: string,
  { formerMax, secret }: SecretReplacement,
): Promise<number | null> {
  const ids = [clientId, webhookId]
  if ((await connection.query(lockSecretStatement, ids)).length === 0) return null
  const wait = firstRow(
    await connection.query<{ seconds: number }>(waitStatement, [...ids, formerMax - 1]),
  )
  if (wait) return wait.seconds
  await connection.query(keepStatement, ids)
  await connection.query(replaceStatement, [...ids, secret])
  return 0
}

const pruneStatement = statement(
  'prune_former_secrets',
  'delete from webhook_former_secret where signs_until <= now()',
)

/** Forgets the secrets that sign no more, of clients without any event, too. */
export const pruneFormerSecrets = async (connection: Connection): Promise<void> => {
  await connection.query(pruneStatement)
}
