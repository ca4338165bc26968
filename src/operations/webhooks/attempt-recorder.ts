import type { Connection } from '../../storage/engine/database.ts'
import { recordTries } from '../../storage/webhooks/attempts.ts'
import { restQueue } from '../../storage/webhooks/queues.ts'
import type { WebhookReference } from '../../storage/webhooks/webhooks.ts'
import { disableWebhook, lockWebhookTarget } from '../../storage/webhooks/webhooks.ts'
import type { TryResult } from './attempt.ts'
import type { DeliveryContext } from './delivery-context.ts'

/** Records a delivery attempt. Resolves once the record is durable. */
export type TryRecorder = (result: TryResult) => Promise<void>

/**
 * After a deadlock or a short outage, the attempt is recorded again, so that the receiver does not
 * get the delivery twice.
 */
const attemptsMax = 3

/**
 * Records the delivery attempts of one endpoint. Attempts that end while a statement runs share the
 * next one: a busy endpoint needs fewer statements per attempt. The last attempt at an address
 * disables the endpoint.
 */
export function createTryRecorder(
  context: DeliveryContext,
  reference: WebhookReference,
): TryRecorder {
  let waiting: TryResult[] = []
  let next: Promise<void> | null = null
  let running: Promise<void> = Promise.resolve()

  const recordWaiting = async (): Promise<void> => {
    await running.catch(() => undefined)
    const batch = waiting
    waiting = []
    next = null
    running = record(context, reference, batch)
    await running
  }
  return (result) => {
    waiting.push(result)
    next ??= recordWaiting()
    return next
  }
}

async function record(
  { database, observe }: DeliveryContext,
  reference: WebhookReference,
  batch: readonly TryResult[],
): Promise<void> {
  const { restSeconds, urlSince } = batch.reduce((longest, each) =>
    each.restSeconds > longest.restSeconds ? each : longest,
  )
  const mayDisable = batch.some(({ isGivenUp }) => isGivenUp)
  for (let attempt = 1; ; attempt += 1) {
    try {
      // Before the attempts, so that the next claim of due deliveries finds the endpoint paused.
      if (restSeconds > 0) await restQueue(database, reference, urlSince, restSeconds)
      if (mayDisable) {
        const work = (connection: Connection) => recordLast(connection, reference, batch)
        if (await database.transaction(work)) observe.disabled(reference)
      } else {
        const tries = batch.map(({ tried }) => tried)
        await recordTries(database, reference, tries)
      }
      return
    } catch (error) {
      if (attempt === attemptsMax) throw error
    }
  }
}

/** @returns whether it disables the endpoint. */
async function recordLast(
  connection: Connection,
  reference: WebhookReference,
  batch: readonly TryResult[],
): Promise<boolean> {
  const { clientId, webhookId } = reference
  const target = await lockWebhookTarget(connection, clientId, webhookId)
  const isLast = ({ isGivenUp, urlSince }: TryResult) =>
    isGivenUp && target?.status === 'Enabled' && +target.urlSince === +urlSince
  // Deliveries that failed at the previous address go to the present one at once.
  const again = { status: 'Pending', dueInSeconds: 0 } as const
  const tries = batch.map((result) =>
    result.isGivenUp && !isLast(result) ? { ...result.tried, ...again } : result.tried,
  )
  const decided = await recordTries(connection, reference, tries)
  const decisive = batch.filter((each) => isLast(each) && decided.has(each.tried.position))
  if (decisive.length === 0) return false
  const reason = decisive.some(({ isGone }) => isGone) ? 'receiver_gone' : 'not_delivered'
  await disableWebhook(connection, clientId, webhookId, reason)
  return true
}
