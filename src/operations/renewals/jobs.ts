import { randomUUID } from 'node:crypto'
import type { Requester } from '../../domain/client.ts'
import type { ProductId, PublicToken } from '../../domain/identifiers.ts'
import { Problem } from '../../domain/problem.ts'
import * as storedJobs from '../../storage/renewals/jobs.ts'
import type { CardContext } from '../cards/cards.ts'
import { type Answer, once, type RepeatableRequest } from '../idempotency/idempotency.ts'
import { foreseeRenewal, orderDueRenewal, type RenewalContext } from './order.ts'

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

/** Requests that the cards of a product are renewed. Background work does it. */
export const requestRenewals = (
  context: CardContext,
  { clientId, requestId }: Requester,
  { dryRun, expiringBefore, productId }: RequestedRenewals,
  request: RepeatableRequest | null,
): Promise<Answer<RenewalJob>> =>
  once(context, request, async (connection) => {
    const jobId = randomUUID()
    await storedJobs.insertJob(connection, {
      jobId,
      clientId,
      productId,
      expiringBefore,
      isDryRun: dryRun,
      requestId,
    })
    const job = await storedJobs.findJob(connection, jobId, clientId)
    if (!job) throw new Error('The job was not stored.')
    return composeJob(job, [])
  })

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
    finishedAt: finishedAt && finishedAt.toISOString(),
  }
}

/** The number of cards that are renewed at a time. */
const atOnce = 8

/** The number of cards that are listed in one transaction, or read at a time. */
const stepSize = 200

/**
 * Does the jobs that wait, the oldest first. Each step is recorded, so that a job resumes where its
 * process was lost, and each card is renewed once, also if several processes do the job.
 * @param stop ends it between two cards.
 */
export async function doRenewals(
  context: RenewalContext,
  stop: AbortSignal = new AbortController().signal,
): Promise<void> {
  const { database } = context
  while (!stop.aborted) {
    const job = await storedJobs.findJobToDo(database)
    if (!job) return
    if (job.state === 'Listing') {
      await database.transaction((connection) =>
        storedJobs.listNextCards(connection, job, stepSize),
      )
    } else {
      await renewNextCards(context, job, stop)
    }
  }
}

async function renewNextCards(
  context: RenewalContext,
  { clientId, isDryRun, jobId, requestId }: storedJobs.UndoneJob,
  stop: AbortSignal,
): Promise<void> {
  const { database } = context
  const publicTokens = await storedJobs.listJobCards(database, jobId, stepSize)
  const renewOne = async (publicToken: PublicToken): Promise<void> => {
    const card = { publicToken, clientId }
    const outcome = isDryRun
      ? await foreseeRenewal(context, card)
      : await orderDueRenewal(context, card, { jobId, requestId })
    await storedJobs.setOutcome(database, jobId, publicToken, outcome)
  }
  for (let from = 0; from < publicTokens.length && !stop.aborted; from += atOnce) {
    await Promise.all(publicTokens.slice(from, from + atOnce).map(renewOne))
  }
  if (publicTokens.length === 0) await storedJobs.finishJob(database, jobId, context.now())
}
