import { type Connection, type Statement, statement } from './database.ts'

/** The columns of a webhook that are sealed. */
export const sealedWebhookColumns = ['secret', 'description'] as const
export type SealedWebhookColumn = (typeof sealedWebhookColumns)[number]

/** One sealed column of a webhook. */
export interface SealedWebhook {
  readonly clientId: string
  readonly webhookId: string
  readonly sealed: Uint8Array
}

const byColumn = (
  make: (column: SealedWebhookColumn) => Statement,
): Record<SealedWebhookColumn, Statement> => ({
  secret: make('secret'),
  description: make('description'),
})

const listStatements = byColumn((column) =>
  statement(
    `list_sealed_webhooks_${column}`,
    `select client_id as "clientId", webhook_id as "webhookId", ${column} as "sealed" from webhook
     where (client_id, webhook_id) > ($1, $2) and ${column} is not null
     order by client_id, webhook_id limit $3`,
  ),
)

/** Some webhooks that have something in a sealed column, in the order of their clients and ids. */
export const listSealedWebhooks = (
  connection: Connection,
  column: SealedWebhookColumn,
  after: Pick<SealedWebhook, 'clientId' | 'webhookId'>,
  limit: number,
): Promise<SealedWebhook[]> =>
  connection.query(listStatements[column], [after.clientId, after.webhookId, limit])

const moveStatements = byColumn((column) =>
  statement(
    `move_sealed_webhook_${column}`,
    `update webhook set ${column} = $4
     where client_id = $1 and webhook_id = $2 and ${column} = $3 returning 1 as one`,
  ),
)

/** Puts a sealed column under another key, if it is still what it was. @returns whether it was. */
export const moveSealedWebhook = async (
  connection: Connection,
  column: SealedWebhookColumn,
  { clientId, sealed, webhookId }: SealedWebhook,
  after: Uint8Array,
): Promise<boolean> =>
  (await connection.query(moveStatements[column], [clientId, webhookId, sealed, after])).length ===
  1

/** A secret that was replaced and may still sign. */
export interface SealedFormerSecret extends SealedWebhook {
  readonly formerSecretId: string
}

const listFormerStatement = statement(
  'list_sealed_former_secrets',
  `select client_id as "clientId", webhook_id as "webhookId",
     former_secret_id as "formerSecretId", secret as "sealed"
   from webhook_former_secret
   where (client_id, webhook_id, former_secret_id) > ($1, $2, $3)
   order by client_id, webhook_id, former_secret_id limit $4`,
)

/** Some secrets that were replaced, in the order of their webhooks. */
export const listSealedFormerSecrets = (
  connection: Connection,
  { clientId, formerSecretId, webhookId }: Omit<SealedFormerSecret, 'sealed'>,
  limit: number,
): Promise<SealedFormerSecret[]> =>
  connection.query(listFormerStatement, [clientId, webhookId, formerSecretId, limit])

const moveFormerStatement = statement(
  'move_sealed_former_secret',
  `update webhook_former_secret set secret = $5
   where client_id = $1 and webhook_id = $2 and former_secret_id = $3 and secret = $4
   returning 1 as one`,
)

/** Puts a secret that was replaced under another key. @returns whether it was still what it was. */
export const moveSealedFormerSecret = async (
  connection: Connection,
  { clientId, formerSecretId, sealed, webhookId }: SealedFormerSecret,
  after: Uint8Array,
): Promise<boolean> =>
  (
    await connection.query(moveFormerStatement, [
      clientId,
      webhookId,
      formerSecretId,
      sealed,
      after,
    ])
  ).length === 1
