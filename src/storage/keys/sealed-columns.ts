import type { PublicToken } from '../../domain/identifiers.ts'
import { type Connection, type Statement, statement } from '../engine/database.ts'

/** A note beside an event. */
interface SealedNote {
  readonly publicToken: PublicToken
  readonly sequence: number
  readonly note: Uint8Array
}

const listNotesStatement = statement(
  'list_sealed_notes',
  `select public_token as "publicToken", sequence, note from event
   where (public_token, sequence) > ($1, $2) and note is not null
   order by public_token, sequence limit $3`,
)

/** Some notes, in the order of their cards and events. `''` stands before all cards. */
export const listSealedNotes = (
  connection: Connection,
  after: { readonly publicToken: PublicToken | ''; readonly sequence: number },
  limit: number,
): Promise<SealedNote[]> =>
  connection.query(listNotesStatement, [after.publicToken, after.sequence, limit])

const moveNoteStatement = statement(
  'move_note',
  `update event set note = $4 where public_token = $1 and sequence = $2 and note is not null and note = $3
   returning public_token as "publicToken"`,
)

/** Puts a note under another key. @returns whether it was still there. */
export const moveNote = async (
  connection: Connection,
  { note, publicToken, sequence }: SealedNote,
  after: Uint8Array,
): Promise<boolean> =>
  (await connection.query(moveNoteStatement, [publicToken, sequence, note, after])).length === 1

/** A remembered answer. */
interface SealedAnswer {
  readonly clientId: string
  readonly keyHash: Uint8Array
  readonly claimId: string
  readonly answer: Uint8Array
}

const listAnswersStatement = statement(
  'list_sealed_answers',
  `select client_id as "clientId", key_hash as "keyHash", claim_id as "claimId", answer
   from idempotency_record
   where (client_id, key_hash) > ($1, $2) and answer is not null
   order by client_id, key_hash limit $3`,
)

/** Some remembered answers, in the order of their clients and keys. */
export const listSealedAnswers = (
  connection: Connection,
  after: Pick<SealedAnswer, 'clientId' | 'keyHash'>,
  limit: number,
): Promise<SealedAnswer[]> =>
  connection.query(listAnswersStatement, [after.clientId, after.keyHash, limit])

const moveAnswerStatement = statement(
  'move_answer',
  `update idempotency_record set answer = $4
   where client_id = $1 and key_hash = $2 and answer = $3
   returning client_id as "clientId"`,
)

/** Puts an answer under another key. @returns whether it was still that one. */
export const moveAnswer = async (
  connection: Connection,
  { answer, clientId, keyHash }: SealedAnswer,
  after: Uint8Array,
): Promise<boolean> =>
  (await connection.query(moveAnswerStatement, [clientId, keyHash, answer, after])).length === 1

/** A secret of the sandbox. */
interface SealedSecret {
  readonly secretName: string
  readonly sealed: Uint8Array
}

const listSecretsStatement = statement(
  'list_sandbox_secrets',
  `select secret_name as "secretName", sealed from sandbox_secret
   where secret_name > $1 order by secret_name limit $2`,
)

/** Some of the sandbox's secrets, in the order of their names. */
export const listSandboxSecrets = (
  connection: Connection,
  afterName: string,
  limit: number,
): Promise<SealedSecret[]> => connection.query(listSecretsStatement, [afterName, limit])

const moveSecretStatement = statement(
  'move_sandbox_secret',
  `update sandbox_secret set sealed = $3 where secret_name = $1 and sealed = $2
   returning secret_name as "secretName"`,
)

/** Puts a secret under another key. @returns whether it was still that one. */
export const moveSandboxSecret = async (
  connection: Connection,
  { sealed, secretName }: SealedSecret,
  after: Uint8Array,
): Promise<boolean> =>
  (await connection.query(moveSecretStatement, [secretName, sealed, after])).length === 1

/** The columns of a webhook that are sealed. */
const sealedWebhookColumns = ['secret', 'description'] as const
export type SealedWebhookColumn = (typeof sealedWebhookColumns)[number]

/** One sealed column of a webhook. */
interface SealedWebhook {
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
interface SealedFormerSecret extends SealedWebhook {
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
