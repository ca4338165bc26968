import type { PublicToken } from '../../domain/identifiers.ts'
import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

/** A note beside an event. */
interface SealedNote {
  readonly publicToken: PublicToken
  readonly sequence: number
  readonly note: Uint8Array
}

/** Where a page of notes begins. `''` stands before all cards. */
interface NotePosition {
  readonly publicToken: PublicToken | ''
  readonly sequence: number
}

const declare = loadStatements(import.meta.url)

const selectNotes = declare<NotePosition & { limit: number }, SealedNote>('list_sealed_notes')

/** Some notes, in the order of their cards and events. */
export const listSealedNotes = (
  connection: Connection,
  after: NotePosition,
  limit: number,
): Promise<SealedNote[]> => selectNotes(connection, { ...after, limit })

const updateNote = declare<SealedNote & { after: Uint8Array }, { isMoved: boolean }>('move_note')

/** Puts a note under another key. @returns whether it was still there. */
export const moveNote = async (
  connection: Connection,
  note: SealedNote,
  after: Uint8Array,
): Promise<boolean> => firstRow(await updateNote(connection, { ...note, after }))?.isMoved ?? false

/** A remembered answer. */
interface SealedAnswer {
  readonly clientId: string
  readonly keyHash: Uint8Array
  readonly claimId: string
  readonly answer: Uint8Array
}

type AnswerKey = Pick<SealedAnswer, 'clientId' | 'keyHash'>

const selectAnswers = declare<AnswerKey & { limit: number }, SealedAnswer>('list_sealed_answers')

/** Some remembered answers, in the order of their clients and keys. */
export const listSealedAnswers = (
  connection: Connection,
  after: AnswerKey,
  limit: number,
): Promise<SealedAnswer[]> => selectAnswers(connection, { ...after, limit })

const updateAnswer = declare<
  Omit<SealedAnswer, 'claimId'> & { after: Uint8Array },
  { isMoved: boolean }
>('move_answer')

/** Puts an answer under another key. @returns whether it was still that one. */
export const moveAnswer = async (
  connection: Connection,
  answer: SealedAnswer,
  after: Uint8Array,
): Promise<boolean> =>
  firstRow(await updateAnswer(connection, { ...answer, after }))?.isMoved ?? false

/** A secret of the sandbox. */
interface SealedSecret {
  readonly secretName: string
  readonly sealed: Uint8Array
}

const selectSecrets = declare<{ afterName: string; limit: number }, SealedSecret>(
  'list_sandbox_secrets',
)

/** Some of the sandbox's secrets, in the order of their names. */
export const listSandboxSecrets = (
  connection: Connection,
  afterName: string,
  limit: number,
): Promise<SealedSecret[]> => selectSecrets(connection, { afterName, limit })

const updateSecret = declare<SealedSecret & { after: Uint8Array }>('move_sandbox_secret')

/** Puts a secret under another key. @returns whether it was still that one. */
export const moveSandboxSecret = async (
  connection: Connection,
  secret: SealedSecret,
  after: Uint8Array,
): Promise<boolean> => (await updateSecret(connection, { ...secret, after })).length === 1

/** The columns of a webhook that are sealed. */
export type SealedWebhookColumn = 'secret' | 'description'

/** One sealed column of a webhook. */
interface SealedWebhook {
  readonly clientId: string
  readonly webhookId: string
  readonly sealed: Uint8Array
}

type WebhookKey = Pick<SealedWebhook, 'clientId' | 'webhookId'>
type WebhookPage = WebhookKey & { readonly limit: number }

const selectWebhookSecrets = declare<WebhookPage, SealedWebhook>('list_sealed_webhooks_secret')
const selectDescriptions = declare<WebhookPage, SealedWebhook>('list_sealed_webhooks_description')
const selectWebhooks = { secret: selectWebhookSecrets, description: selectDescriptions }

/** Some webhooks that have something in a sealed column, in the order of their clients and ids. */
export const listSealedWebhooks = (
  connection: Connection,
  column: SealedWebhookColumn,
  after: WebhookKey,
  limit: number,
): Promise<SealedWebhook[]> => selectWebhooks[column](connection, { ...after, limit })

type WebhookMove = SealedWebhook & { readonly after: Uint8Array }

const updateWebhookSecret = declare<WebhookMove>('move_sealed_webhook_secret')
const updateDescription = declare<WebhookMove>('move_sealed_webhook_description')
const updateWebhook = { secret: updateWebhookSecret, description: updateDescription }

/** Puts a sealed column under another key, if it is still what it was. @returns whether it was. */
export const moveSealedWebhook = async (
  connection: Connection,
  column: SealedWebhookColumn,
  webhook: SealedWebhook,
  after: Uint8Array,
): Promise<boolean> => (await updateWebhook[column](connection, { ...webhook, after })).length === 1

/** A secret that was replaced and may still sign. */
interface SealedFormerSecret extends SealedWebhook {
  readonly formerSecretId: string
}

type FormerSecretKey = Omit<SealedFormerSecret, 'sealed'>

const selectFormerSecrets = declare<FormerSecretKey & { limit: number }, SealedFormerSecret>(
  'list_sealed_former_secrets',
)

/** Some secrets that were replaced, in the order of their webhooks. */
export const listSealedFormerSecrets = (
  connection: Connection,
  after: FormerSecretKey,
  limit: number,
): Promise<SealedFormerSecret[]> => selectFormerSecrets(connection, { ...after, limit })

const updateFormerSecret = declare<SealedFormerSecret & { after: Uint8Array }>(
  'move_sealed_former_secret',
)

/** Puts a secret that was replaced under another key. @returns whether it was still what it was. */
export const moveSealedFormerSecret = async (
  connection: Connection,
  secret: SealedFormerSecret,
  after: Uint8Array,
): Promise<boolean> => (await updateFormerSecret(connection, { ...secret, after })).length === 1
