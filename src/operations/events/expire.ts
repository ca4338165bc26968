import { randomUUID } from 'node:crypto'
import { expireCounts, expireHourCounts } from '../../storage/authorizations/counts.ts'
import { expireAuthorizations } from '../../storage/authorizations/records.ts'
import { expireStreams } from '../../storage/clients/streams.ts'
import { expireDecisions } from '../../storage/decisions/retention.ts'
import type { Database } from '../../storage/engine/database.ts'
import { claimLease } from '../../storage/engine/leases.ts'
import { expireFeed, expireOutbox, listFeeds } from '../../storage/events/retention.ts'
import {
  deleteFeedSlice,
  deleteSlice,
  findDatabaseDay,
  listSlices,
  makeSlice,
  type Slice,
  type SlicedTable,
  slicedTables,
} from '../../storage/events/slices.ts'
import { expirePayments } from '../../storage/payments/payments.ts'
import {
  expireDeliveries,
  listAllWebhooks,
  removeDeliveries,
  removeWebhook,
} from '../../storage/webhooks/retention.ts'
import { expireFormerSecrets } from '../../storage/webhooks/secrets.ts'
import type { EventContext } from './publish.ts'
import { pause } from './rests.ts'

const intervalMs = 60_000
/** The number of rows that one statement deletes. */
const stepSize = 500

/** The retention of finished records, in days. */
export interface Retention {
  /** Events, in the outbox and in the feeds, and settled deliveries. */
  readonly eventDays: number
  /** Authorizations, with their spent tries and decisions. */
  readonly attemptDays: number
  /** Payments that are over, with their messages. */
  readonly paymentDays: number
}

/** Deletes expired records at intervals until it is stopped. One process does so, by lease. */
export async function expireRegularly(
  { database, observe, retention }: EventContext & { readonly retention: Retention },
  stop: AbortSignal,
): Promise<void> {
  const holder = randomUUID()
  while (!stop.aborted) {
    await pause(intervalMs, stop)
    try {
      // The lease lasts nearly as long as the interval and is never released: so one process works
      // in each interval.
      if (stop.aborted || !(await claimLease(database, 'prune-events', holder, 55))) continue
      await expireRecords(database, retention, stop)
    } catch (error) {
      observe.faulted(error, 'old records could not be deleted')
    }
  }
}

/**
 * Deletes records older than their retention: an expired slice at once, all others in small steps.
 * Creates the slices that are needed next.
 * @throws AggregateError of all failures, after every step was attempted.
 */
export async function expireRecords(
  database: Database,
  { attemptDays, eventDays, paymentDays }: Retention,
  stop: AbortSignal = new AbortController().signal,
): Promise<void> {
  const faults: unknown[] = []
  const seeTo = async (work: () => Promise<unknown>): Promise<void> => {
    if (!stop.aborted) await work().catch((error) => faults.push(error))
  }
  const ofEachFeed = async (work: (clientId: string) => Promise<unknown>): Promise<void> => {
    for (let after: string | undefined = ''; after !== undefined && !stop.aborted; ) {
      const clientIds: string[] = await listFeeds(database, after, stepSize)
      for (const clientId of clientIds) await seeTo(() => work(clientId))
      after = clientIds.at(-1)
    }
  }
  await seeTo(() => makeSlices(database, eventDays))
  await seeTo(() =>
    expireSlices(database, 'event', eventDays, (slice) => deleteSlice(database, slice)),
  )
  await seeTo(() => untilNone(stop, () => expireOutbox(database, eventDays, stepSize)))
  await seeTo(() => ofEachFeed((clientId) => pruneEndpoints(database, clientId, eventDays, stop)))
  // Settled deliveries are deleted by now: an event with a remaining delivery stays.
  await seeTo(() =>
    expireSlices(database, 'published_event', eventDays, (slice) =>
      deleteFeedSlice(database, slice, eventDays),
    ),
  )
  await seeTo(async () => {
    const beforeDay = await findFirstLivingDay(database, eventDays)
    const step = { beforeDay, days: eventDays, limit: stepSize }
    await ofEachFeed(async (clientId) => {
      for (let after: string | null = '0'; after !== null && !stop.aborted; ) {
        after = await expireFeed(database, clientId, { ...step, after })
      }
    })
  })
  await seeTo(() => untilNone(stop, () => expireAuthorizations(database, attemptDays, stepSize)))
  await seeTo(() => untilNone(stop, () => expireDecisions(database, attemptDays, stepSize)))
  await seeTo(() => untilNone(stop, () => expirePayments(database, paymentDays, stepSize)))
  await seeTo(() => untilNone(stop, () => expireCounts(database, attemptDays, stepSize)))
  await seeTo(() => untilNone(stop, () => expireHourCounts(database, attemptDays, stepSize)))
  await seeTo(() => expireStreams(database))
  await seeTo(() => expireFormerSecrets(database))
  if (faults.length > 0) {
    throw new AggregateError(faults, 'Some old records could not be deleted.', { cause: faults[0] })
  }
}

/**
 * The number of slices that the retention is divided into. Each statement reads all slices that it
 * cannot exclude.
 */
const retentionSlices = 6
/** Slices exist at least this many days before they are needed. */
const daysAhead = 7

/** Creates the slices for the next events, unless they exist. */
export async function makeSlices(database: Database, days: number): Promise<void> {
  const today = await findDatabaseDay(database)
  const length = Math.ceil(days / retentionSlices)
  for (const table of slicedTables) {
    const newest = (await listSlices(database, table)).at(-1)
    let fromDay = Math.max(today, newest?.untilDay ?? today)
    while (fromDay <= today + Math.max(length, daysAhead)) {
      const untilDay = fromDay + length
      await makeSlice(database, { table, fromDay, untilDay })
      fromDay = untilDay
    }
  }
}

/** Whether all events of a slice are older than a number of days. */
const isOver = ({ untilDay }: Slice, days: number, today: number): boolean =>
  untilDay + days <= today

async function expireSlices(
  database: Database,
  table: SlicedTable,
  days: number,
  deleteExpired: (slice: Slice) => Promise<boolean>,
): Promise<void> {
  const today = await findDatabaseDay(database)
  for (const slice of await listSlices(database, table)) {
    if (isOver(slice, days, today)) await deleteExpired(slice)
  }
}

/** Returns the first day whose feed events are deleted with their slices; null without one. */
async function findFirstLivingDay(database: Database, days: number): Promise<number | null> {
  const today = await findDatabaseDay(database)
  const slices = await listSlices(database, 'published_event')
  return slices.find((slice) => !isOver(slice, days, today))?.fromDay ?? null
}

async function pruneEndpoints(
  database: Database,
  clientId: string,
  days: number,
  stop: AbortSignal,
): Promise<void> {
  for (const { isDeleted, webhookId } of await listAllWebhooks(database, clientId)) {
    const reference = { clientId, webhookId }
    await untilNone(stop, () =>
      isDeleted
        ? removeDeliveries(database, reference, stepSize)
        : expireDeliveries(database, reference, days, stepSize),
    )
    if (stop.aborted) return
    if (isDeleted) await removeWebhook(database, reference)
  }
}

/**
 * Repeats a step until it finds nothing, and pauses after each for as long as it took, so that
 * other work comes first.
 */
async function untilNone(stop: AbortSignal, step: () => Promise<number>): Promise<void> {
  while (!stop.aborted) {
    const fromMs = performance.now()
    if ((await step()) === 0) return
    await pause(performance.now() - fromMs, stop)
  }
}
