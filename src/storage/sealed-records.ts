import { type Connection, statement } from './database.ts'

/** A note beside an event. */
export interface SealedNote {
  readonly publicToken: string
  readonly sequence: number
  readonly note: Uint8Array
}

const listNotesStatement = statement(
  'list_sealed_notes',
  `select public_token as "publicToken", sequence, note from event
   where (public_token, sequence) > ($1, $2) and note is not null
   order by public_token, sequence limit $3`,
)

/** Some notes, in the order of their cards and events. */
export const listSealedNotes = (
  connection: Connection,
  after: Pick<SealedNote, 'publicToken' | 'sequence'>,
  limit: number,
): Promise<SealedNote[]> =>
  connection.query(listNotesStatement, [after.publicToken, after.sequence, limit])

const moveNoteStatement = statement(
  'move_note',
  `update event set note = $4 where public_token = $1 and sequence = $2 and note = $3
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
export interface SealedAnswer {
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
export interface SealedSecret {
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
