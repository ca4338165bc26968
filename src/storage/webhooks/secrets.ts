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
  /** The maximum number of former secrets that sign. */
  readonly formerMax: number
}

/**
 * Sets another secret; the previous one also signs for 24 hours. In a transaction.
 * @returns 0, or the seconds until another secret is possible; null if the webhook does not exist.
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

/** Deletes the secrets that no longer sign, including those of clients without events. */
export const expireFormerSecrets = async (connection: Connection): Promise<void> => {
  await deleteFormerSecrets(connection, {})
}
