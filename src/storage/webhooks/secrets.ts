import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'
import type { WebhookReference } from './webhooks.ts'

const declare = loadStatements(import.meta.url)

const lockSecret = declare<WebhookReference, { webhookId: string }>('lock_webhook_secret')
const selectWait = declare<WebhookReference & { offset: number }, { seconds: number }>(
  'wait_for_former_secret',
)
const insertFormerSecret = declare<WebhookReference>('keep_former_secret')
const updateSecret = declare<WebhookReference & { secret: Uint8Array }>('replace_webhook_secret')

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
  const reference = { clientId, webhookId }
  if ((await lockSecret(connection, reference)).length === 0) return null
  const offset = formerMax - 1
  const wait = firstRow(await selectWait(connection, { clientId, webhookId, offset }))
  if (wait) return wait.seconds
  await insertFormerSecret(connection, reference)
  await updateSecret(connection, { clientId, webhookId, secret })
  return 0
}

const deleteFormerSecrets = declare('prune_former_secrets')

/** Forgets the secrets that sign no more, of clients without any event, too. */
export const expireFormerSecrets = async (connection: Connection): Promise<void> => {
  await deleteFormerSecrets(connection, {})
}
