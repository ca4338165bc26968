import { randomUUID } from 'node:crypto'
import { formatDate } from '../../domain/calendar.ts'
import type { Requester } from '../../domain/client.ts'
import type { ProductId, PublicToken } from '../../domain/identifiers.ts'
import { Problem } from '../../domain/problem.ts'
import { findGrantedProduct } from '../../storage/products/products.ts'
import * as storedJobs from '../../storage/renewals/jobs.ts'
import type { CardContext } from '../cards/cards.ts'
import { type Answer, once, type RepeatableRequest } from '../idempotency/idempotency.ts'
import {
  foreseeRenewal,
  orderDueRenewal,
  type RenewalContext,
  type RenewalOutcome,
} from './order.ts'

/** The cards of a product that are renewed together. */
interface RequestedRenewals {
  readonly productId: ProductId
  /** `YYYY-MM-DD`: cards whose last day is before it. */
  readonly expiringBefore: string
  readonly dryRun: boolean
}

/** A job, with the counts of its cards so far. */
interface RenewalJob extends RequestedRenewals {
  readonly jobId: string
  readonly status: 'Running' | 'Done'
  /** How many cards the job has found. */
  readonly due: number
  /** How many renewals it ordered; of a dry run, how many it would order. */
  readonly ordered: number
  /** How many cards were refused, by the code of the refusal. */
  readonly refused: Readonly<Record<string, number>>
  /** RFC 3339, UTC. */
  readonly requestedAt: string
  readonly finishedAt: string | null
}

/**
 * Requests that the cards of a product are renewed. Background work does it.
 * @throws `Problem` `product_not_available`; `rate_limited` if too many jobs of the client wait.
 */
export async function requestRenewals(
  context: CardContext,
  { clientId, requestId }: Requester,
  { dryRun, expiringBefore, productId }: RequestedRenewals,
  request: RepeatableRequest | null,
): Promise<Answer<RenewalJob>> {
  // Before the transaction, which an embedded database runs alone.
  if (!(await findGrantedProduct(context.database, clientId, productId))) {
    const detail = 'must be the productId of an active product that is granted to your client'
    throw new Problem('product_not_available', { errors: [{ pointer: '/productId', detail }] })
  }
  return once(context, request, async (connection) => {
    if ((await storedJobs.lockJobCount(connection, clientId, jobsOfClientMax)) >= jobsOfClientMax) {
      const detail = `${jobsOfClientMax} jobs of your client are not done. Wait for one of them.`
      throw new Problem('rate_limited', { detail, retryAfterSeconds: 30 })
    }
    const jobId = randomUUID()
    await storedJobs.insertJob(connection, {
      jobId,
      clientId,
      productId,
      expiringBefore,
      isDryRun: dryRun,
      requestId,
      requestedAt: context.now(),
    })
    const job = await storedJobs.findJob(connection, jobId, clientId)
    if (!job) throw new Error('The job was not stored.')
    return composeJob(job, [])
  })
}

/** Returns a job of the requester with its counts. @throws `Problem` `not_found`. */
export async function findRenewals(
  { database }: Pick<CardContext, 'database'>,
  { clientId }: Requester,
  jobId: string,
): Promise<RenewalJob> {
  const job = await storedJobs.findJob(database, jobId, clientId)
  if (!job) throw new Problem('not_found', { detail: 'No job of your client has this jobId.' })
  return composeJob(job, await storedJobs.countOutcomes(database, jobId))
}

function composeJob(
  { expiringBefore, finishedAt, isDryRun, jobId, productId, requestedAt, state }: storedJobs.JobRow,
  counts: readonly { readonly outcome: string | null; readonly count: number }[],
): RenewalJob {
  const refused = counts.flatMap(({ count, outcome }) =>
    outcome === null || outcome === 'ordered' ? [] : [[outcome, count] as const],
  )
  return {
    jobId,
    productId,
    expiringBefore,
    dryRun: isDryRun,
    status: state === 'Done' ? 'Done' : 'Running',
    due: counts.reduce((sum, { count }) => sum + count, 0),
    ordered: counts.find(({ outcome }) => outcome === 'ordered')?.count ?? 0,
    refused: Object.fromEntries(refused),
    requestedAt: requestedAt.toISOString(),
    finishedAt: finishedAt?.toISOString() ?? null,
  }
}

/** The number of jobs of a client that are not done. */
const jobsOfClientMax = 10

/** The number of cards that are renewed at a time. */
const atOnce = 8

/** The number of cards that are renewed in one turn of a job, or deleted at a time. */
const stepSize = 200

/** The number of jobs that take turns: those of a hundred clients that have as many as they can. */
const jobsAtOnce = 1_000

/**
 * Does the jobs that wait, in turns of some cards, so that a long job does not delay a short one.
 * Each client has one turn after the other, however many jobs it has, and its jobs share them. Each
 * step is recorded, so that a job resumes where its process was lost, and each card is renewed
 * once, also if several processes do the job.
 * @param stop ends it between two cards.
 * @throws the first error, once each job had its turn: a job that fails delays no other.
 */
export async function doRenewals(
  context: RenewalContext,
  stop: AbortSignal = new AbortController().signal,
): Promise<void> {
  let isProgress = true
  while (isProgress && !stop.aborted) {
    isProgress = false
    const errors: unknown[] = []
    // In as many passes as a client can have jobs, each job has a turn.
    for (let pass = 0; pass < jobsOfClientMax && !stop.aborted; pass += 1) {
      const jobs = await storedJobs.listJobsToDo(context.database, jobsAtOnce)
      if (jobs.length === 0) break
      isProgress = true
      errors.push(...(await takePass(context, chooseTurns(jobs, pass), stop)))
    }
    if (errors.length > 0) throw errors[0]
  }
}

/**
 * Gives each job a turn.
 * @returns the errors of the jobs that failed.
 */
async function takePass(
  context: RenewalContext,
  jobs: readonly storedJobs.UndoneJob[],
  stop: AbortSignal,
): Promise<unknown[]> {
  const errors: unknown[] = []
  for (const job of jobs) {
    if (stop.aborted) break
    // All cards of a turn have the same day.
    const at = context.now()
    const turn = takeTurn({ ...context, now: () => at }, job, stop)
    await turn.catch((error) => errors.push(error))
  }
  return errors
}

/** Chooses one job of each client, another one in each pass. */
function chooseTurns(
  jobs: readonly storedJobs.UndoneJob[],
  pass: number,
): readonly storedJobs.UndoneJob[] {
  const byClient = Map.groupBy(jobs, ({ clientId }) => clientId)
  return [...byClient.values()].flatMap((own) => own[pass % own.length] ?? [])
}

async function takeTurn(
  context: RenewalContext,
  job: storedJobs.UndoneJob,
  stop: AbortSignal,
): Promise<void> {
  if (job.state === 'Working') return renewNextCards(context, job, stop)
  await context.database.transaction((connection) =>
    storedJobs.listNextCards(connection, job, formatDate(context.now())),
  )
}

async function renewNextCards(
  context: RenewalContext,
  { clientId, expiringBefore, isDryRun, jobId, requestId }: storedJobs.UndoneJob,
  stop: AbortSignal,
): Promise<void> {
  const { database } = context
  const publicTokens = await storedJobs.listJobCards(database, jobId, stepSize)
  const errors: unknown[] = []
  const origin = { jobId, requestId, expiringBefore }
  const renewOne = async (publicToken: PublicToken): Promise<void> => {
    const card = { publicToken, clientId }
    const renewing = isDryRun
      ? foreseeRenewal(context, card, origin)
      : orderDueRenewal(context, card, origin)
    // A card that fails has its turn, too. Without a database, its outcome is not recorded either.
    const outcome = await renewing.catch((error): RenewalOutcome => {
      errors.push(error)
      return 'internal_error'
    })
    await storedJobs.setOutcome(database, jobId, publicToken, outcome)
  }
  for (let from = 0; from < publicTokens.length && !stop.aborted; from += atOnce) {
    await Promise.all(publicTokens.slice(from, from + atOnce).map(renewOne))
  }
  if (publicTokens.length === 0) await storedJobs.finishJob(database, jobId, context.now())
  if (errors.length > 0) throw errors[0]
}

/** How long a job is kept after it has finished. */
const keptMs = 30 * 24 * 3_600_000

/** Deletes the jobs that finished more than 30 days ago. The plastics that they ordered stay. */
export async function deleteOldRenewals(
  { database, now }: RenewalContext,
  stop: AbortSignal = new AbortController().signal,
): Promise<void> {
  const finishedBefore = new Date(now().getTime() - keptMs)
  while (!stop.aborted && (await storedJobs.deleteOldJob(database, finishedBefore, stepSize)));
}
