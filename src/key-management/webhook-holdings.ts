import type { RecordPurpose } from '../hsm/hsm.ts'
import {
  listSealedFormerSecrets,
  listSealedWebhooks,
  moveSealedFormerSecret,
  moveSealedWebhook,
  type SealedWebhookColumn,
} from '../storage/sealed-webhooks.ts'
import type { Holding } from './holding.ts'

const noUuid = '00000000-0000-0000-0000-000000000000'

/** What each sealed column of a webhook was sealed for. */
const purposes: Record<SealedWebhookColumn, RecordPurpose> = {
  secret: 'webhook-secret',
  description: 'note',
}

/** A column of the webhooks that is sealed under the key of personal data. */
export const webhookHolding = (column: SealedWebhookColumn): Holding => ({
  holdingName: `webhook.${column}`,
  async page({ database, hsm }, after, limit) {
    const [clientId = '', webhookId = noUuid] = after.split('\n')
    const rows = await listSealedWebhooks(database, column, { clientId, webhookId }, limit)
    return rows.map((row) => ({
      position: `${row.clientId}\n${row.webhookId}`,
      keyVersion: hsm.sealedVersionOf(row.sealed),
      async move() {
        const moved = await hsm.rewrapRecord(purposes[column], row.webhookId, row.sealed)
        return moveSealedWebhook(database, column, row, moved)
      },
    }))
  },
})

/** Secrets that were replaced. Looked at after the present ones, each of which may become one. */
export const formerSecretHolding: Holding = {
  holdingName: 'webhook_former_secret.secret',
  async page({ database, hsm }, after, limit) {
    const [clientId = '', webhookId = noUuid, formerSecretId = noUuid] = after.split('\n')
    const position = { clientId, webhookId, formerSecretId }
    const rows = await listSealedFormerSecrets(database, position, limit)
    return rows.map((row) => ({
      position: `${row.clientId}\n${row.webhookId}\n${row.formerSecretId}`,
      keyVersion: hsm.sealedVersionOf(row.sealed),
      async move() {
        const moved = await hsm.rewrapRecord('webhook-secret', row.webhookId, row.sealed)
        return moveSealedFormerSecret(database, row, moved)
      },
    }))
  },
}
