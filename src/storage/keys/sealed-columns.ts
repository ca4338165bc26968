import type { PublicToken } from '../../domain/identifiers.ts'
import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

/** The note of an event. */
interface SealedNote {
  readonly publicToken: PublicToken
  readonly sequence: number
  readonly note: Uint8Array
}

/** The start of a page of notes. `''` precedes all cards. */
interface NotePosition {
  readonly publicToken: PublicToken | ''
  readonly sequence: number
}

const declare = loadStatements(import.meta.url)

const selectNotes = declare<NotePosition & { limit: number }, SealedNote>('list_sealed_notes')

/** Lists some notes, by card and event. */
export const listSealedNotes = (
  connection: Connection,
  after: NotePosition,
  limit: number,
): Promise<SealedNote[]> => selectNotes(connection, { ...after, limit })

const updateNote = declare<SealedNote & { after: Uint8Array }, { isMoved: boolean }>('move_note')

/**
 * Stores a note under another key.
 * @returns whether it was unchanged.
 */
export const moveNote = async (
  connection: Connection,
  note: SealedNote,
  after: Uint8Array,
): Promise<boolean> => firstRow(await updateNote(connection, { ...note, after }))?.isMoved ?? false

/** The texts of a plastic for its bureau. */
interface SealedFreeTexts {
  readonly publicToken: PublicToken
  readonly plasticNumber: number
  readonly freeTexts: Uint8Array
}

/** The start of a page of plastics. `''` precedes all cards. */
interface PlasticPosition {
  readonly publicToken: PublicToken | ''
  readonly plasticNumber: number
}

const selectFreeTexts = declare<PlasticPosition & { limit: number }, SealedFreeTexts>(
  'list_sealed_free_texts',
)

/** Lists some texts for the bureau, by card and plastic. */
export const listSealedFreeTexts = (
  connection: Connection,
  after: PlasticPosition,
  limit: number,
): Promise<SealedFreeTexts[]> => selectFreeTexts(connection, { ...after, limit })

const updateFreeTexts = declare<SealedFreeTexts & { after: Uint8Array }>('move_free_texts')

/**
 * Stores texts under another key.
 * @returns whether they were unchanged.
 */
export const moveFreeTexts = async (
  connection: Connection,
  texts: SealedFreeTexts,
  after: Uint8Array,
): Promise<boolean> => (await updateFreeTexts(connection, { ...texts, after })).length > 0

/** A stored answer. */
interface SealedAnswer {
  readonly clientId: string
  readonly keyHash: Uint8Array
  readonly claimId: string
  readonly answer: Uint8Array
}

type AnswerKey = Pick<SealedAnswer, 'clientId' | 'keyHash'>

const selectAnswers = declare<AnswerKey & { limit: number }, SealedAnswer>('list_sealed_answers')

/** Lists some stored answers, by client and key. */
export const listSealedAnswers = (
  connection: Connection,
  after: AnswerKey,
  limit: number,
): Promise<SealedAnswer[]> => selectAnswers(connection, { ...after, limit })

const updateAnswer = declare<
  Omit<SealedAnswer, 'claimId'> & { after: Uint8Array },
  { isMoved: boolean }
>('move_answer')

/**
 * Stores an answer under another key.
 * @returns whether it was unchanged.
 */
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

/** Lists some of the sandbox's secrets, by name. */
export const listSandboxSecrets = (
  connection: Connection,
  afterName: string,
  limit: number,
): Promise<SealedSecret[]> => selectSecrets(connection, { afterName, limit })

const updateSecret = declare<SealedSecret & { after: Uint8Array }>('move_sandbox_secret')

/**
 * Stores a secret under another key.
 * @returns whether it was unchanged.
 */
export const moveSandboxSecret = async (
  connection: Connection,
  secret: SealedSecret,
  after: Uint8Array,
): Promise<boolean> => (await updateSecret(connection, { ...secret, after })).length === 1

/** The sealed columns of a webhook. */
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

/** Lists some webhooks with a value in a sealed column, by client and id. */
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

/**
 * Stores a sealed column under another key, if it is unchanged.
 * @returns whether it was stored.
 */
export const moveSealedWebhook = async (
  connection: Connection,
  column: SealedWebhookColumn,
  webhook: SealedWebhook,
  after: Uint8Array,
): Promise<boolean> => (await updateWebhook[column](connection, { ...webhook, after })).length === 1

/** A replaced secret that may still sign. */
interface SealedFormerSecret extends SealedWebhook {
  readonly formerSecretId: string
}

type FormerSecretKey = Omit<SealedFormerSecret, 'sealed'>

const selectFormerSecrets = declare<FormerSecretKey & { limit: number }, SealedFormerSecret>(
  'list_sealed_former_secrets',
)

/** Lists some replaced secrets, by webhook. */
export const listSealedFormerSecrets = (
  connection: Connection,
  after: FormerSecretKey,
  limit: number,
): Promise<SealedFormerSecret[]> => selectFormerSecrets(connection, { ...after, limit })

const updateFormerSecret = declare<SealedFormerSecret & { after: Uint8Array }>(
  'move_sealed_former_secret',
)

/**
 * Stores a replaced secret under another key.
 * @returns whether it was unchanged.
 */
export const moveSealedFormerSecret = async (
  connection: Connection,
  secret: SealedFormerSecret,
  after: Uint8Array,
): Promise<boolean> => (await updateFormerSecret(connection, { ...secret, after })).length === 1

/** Keys that sign the requests for a client's decisions. */
interface SealedDecisionKeys {
  readonly clientId: string
  readonly keyId: string
  readonly sealed: Uint8Array
}

type DecisionKeysPosition = Omit<SealedDecisionKeys, 'sealed'>

const selectDecisionKeys = declare<DecisionKeysPosition & { limit: number }, SealedDecisionKeys>(
  'list_sealed_decision_keys',
)

/** Lists some signing keys of decisions, by client and key. */
export const listSealedDecisionKeys = (
  connection: Connection,
  after: DecisionKeysPosition,
  limit: number,
): Promise<SealedDecisionKeys[]> => selectDecisionKeys(connection, { ...after, limit })

const updateDecisionKeys = declare<SealedDecisionKeys & { after: Uint8Array }>(
  'move_sealed_decision_keys',
)

/**
 * Stores signing keys of decisions under another key.
 * @returns whether they were unchanged.
 */
export const moveSealedDecisionKeys = async (
  connection: Connection,
  keys: SealedDecisionKeys,
  after: Uint8Array,
): Promise<boolean> => (await updateDecisionKeys(connection, { ...keys, after })).length === 1
