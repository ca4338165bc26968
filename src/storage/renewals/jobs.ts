import type { ProductId, PublicToken } from '../../domain/identifiers.ts'
import type { CardType } from '../../domain/product.ts'
import { type Connection, firstRow } from '../engine/database.ts'
import { loadStatements } from '../engine/statements.ts'

const declare = loadStatements(import.meta.url)

/** The cards that a job renews, and its client. */
interface NewJob {
  readonly jobId: string
  readonly clientId: string
  readonly productId: ProductId
  /** `YYYY-MM-DD` */
  readonly expiringBefore: string
  readonly isDryRun: boolean
  readonly requestId: string
}

const insert = declare<NewJob & { readonly requestedAt: Date }>('insert_job')

export const insertJob = async (
  connection: Connection,
  job: NewJob & { readonly requestedAt: Date },
): Promise<void> => {
  await insert(connection, job)
}

const lockClient = declare<{ clientId: string }>('lock_client_for_jobs')
const countUndone = declare<{ clientId: string; limit: number }, { count: number }>(
  'count_undone_jobs',
)

/**
 * Counts the jobs of a client that are not done, up to a limit, and locks the count until the
 * transaction ends.
 */
export const lockJobCount = async (
  connection: Connection,
  clientId: string,
  limit: number,
): Promise<number> => {
  await lockClient(connection, { clientId })
  return firstRow(await countUndone(connection, { clientId, limit }))?.count ?? 0
}

type JobState = 'Listing' | 'Working' | 'Done'

/** A job as its client sees it. */
export interface JobRow {
  readonly jobId: string
  readonly productId: ProductId
  readonly expiringBefore: string
  readonly isDryRun: boolean
  readonly state: JobState
  readonly requestedAt: Date
  readonly finishedAt: Date | null
}

const select = declare<{ jobId: string; clientId: string }, JobRow>('find_job')

/** Returns a job of this client, or null. */
export const findJob = async (
  connection: Connection,
  jobId: string,
  clientId: string,
): Promise<JobRow | null> => firstRow(await select(connection, { jobId, clientId }))

interface OutcomeCount {
  /** `ordered`, or the code of the refusal; null for cards that wait for their turn. */
  readonly outcome: string | null
  readonly count: number
}

const countRows = declare<{ jobId: string }, OutcomeCount>('count_outcomes')

/** Counts the cards of a job by their outcome. */
export const countOutcomes = (connection: Connection, jobId: string): Promise<OutcomeCount[]> =>
  countRows(connection, { jobId })

/** A job that is not done, with the last card that it walked over. */
export interface UndoneJob extends NewJob {
  readonly state: JobState
  readonly listedCardType: string
  readonly listedCreatedAt: string
  readonly listedToken: string
}

const selectToDo = declare<{ limit: number }, UndoneJob>('list_jobs_to_do')

/** Lists the oldest jobs that are not done. */
export const listJobsToDo = (connection: Connection, limit: number): Promise<UndoneJob[]> =>
  selectToDo(connection, { limit })

/** The cards of one step; `list_cards_of_job` has the same number. */
const cardsOfStep = 500

/** The step of a job, and the card after which it begins. */
interface JobStep {
  readonly productId: ProductId
  readonly clientId: string
  readonly expiringBefore: string
  readonly today: string
  readonly afterCardType: string
  readonly afterCreatedAt: string
  readonly afterToken: string
}

/** A card that a job walked over. */
interface WalkedCard {
  readonly publicToken: PublicToken
  readonly cardType: CardType
  readonly createdAt: string
  readonly isDue: boolean
}

type JobMove = Pick<JobStep, 'afterCardType' | 'afterToken'> &
  Omit<WalkedCard, 'isDue'> & { readonly jobId: string }

const selectCards = declare<JobStep, WalkedCard>('list_cards_of_job')
const insertCards = declare<{ jobId: string; publicTokens: readonly string[] }>('insert_job_cards')
const move = declare<JobMove, { isDone: boolean }>('move_job')
const begin = declare<{ jobId: string }>('begin_work')

/**
 * Lists the next cards of a job, in one transaction with its place. Of several processes that list
 * the same cards, one does.
 * @param today `YYYY-MM-DD`: cards whose last day is before it have expired.
 */
export async function listNextCards(
  connection: Connection,
  job: UndoneJob,
  today: string,
): Promise<void> {
  const { clientId, expiringBefore, jobId, productId } = job
  const after = {
    afterCardType: job.listedCardType,
    afterCreatedAt: job.listedCreatedAt,
    afterToken: job.listedToken,
  }
  const cards = await selectCards(connection, {
    ...after,
    productId,
    clientId,
    expiringBefore,
    today,
  })
  const last = cards.at(-1)
  if (last) {
    const { cardType, createdAt, publicToken } = last
    const { afterCardType, afterToken } = after
    const place = { jobId, afterCardType, afterToken, cardType, createdAt, publicToken }
    if ((await move(connection, place)).length === 0) return
  }
  const publicTokens = cards.filter(({ isDue }) => isDue).map(({ publicToken }) => publicToken)
  if (publicTokens.length > 0) await insertCards(connection, { jobId, publicTokens })
  if (cards.length < cardsOfStep) await begin(connection, { jobId })
}

const selectJobCards = declare<{ jobId: string; limit: number }, { publicToken: PublicToken }>(
  'list_job_cards',
)

/** Lists cards of a job that had no turn yet. */
export const listJobCards = async (
  connection: Connection,
  jobId: string,
  limit: number,
): Promise<PublicToken[]> => {
  const rows = await selectJobCards(connection, { jobId, limit })
  return rows.map(({ publicToken }) => publicToken)
}

const update = declare<{ publicToken: PublicToken; jobId: string; outcome: string }>('set_outcome')

/** Records the outcome for a card, once. */
export const setOutcome = async (
  connection: Connection,
  jobId: string,
  publicToken: PublicToken,
  outcome: string,
): Promise<void> => {
  await update(connection, { publicToken, jobId, outcome })
}

const finish = declare<{ jobId: string; now: Date }>('finish_job')

export const finishJob = async (
  connection: Connection,
  jobId: string,
  now: Date,
): Promise<void> => {
  await finish(connection, { jobId, now })
}

const selectOld = declare<{ finishedBefore: Date }, { jobId: string }>('find_old_job')
const selectOldCards = declare<{ jobId: string; limit: number }, { publicToken: PublicToken }>(
  'list_cards_of_old_job',
)
const deleteCards = declare<{ jobId: string; publicTokens: readonly string[] }>('delete_job_cards')
const deleteJob = declare<{ jobId: string }>('delete_job')

/**
 * Deletes at most `limit` cards of the oldest job that finished before a time, and the job after
 * its last card.
 * @returns whether there was such a job.
 */
export async function deleteOldJob(
  connection: Connection,
  finishedBefore: Date,
  limit: number,
): Promise<boolean> {
  const job = firstRow(await selectOld(connection, { finishedBefore }))
  if (!job) return false
  const cards = await selectOldCards(connection, { ...job, limit })
  const publicTokens = cards.map(({ publicToken }) => publicToken)
  if (publicTokens.length > 0) await deleteCards(connection, { ...job, publicTokens })
  if (publicTokens.length < limit) await deleteJob(connection, job)
  return true
}
