import type { Connection } from '../../storage/engine/database.ts'
import { recordTries, type TriedDelivery } from '../../storage/webhooks/attempts.ts'
import type { WebhookReference } from '../../storage/webhooks/queues.ts'
import { disableWebhook, holdWebhookTarget } from '../../storage/webhooks/webhooks.ts'
import type { TryResult } from './attempt.ts'
import type { DeliveryContext } from './delivery.ts'

/** Puts a try on record. Resolves when it is durable. */
export type TryRecorder = (result: TryResult) => Promise<void>

/** A deadlock or a moment without a database must not make a receiver get what it has. */
const attemptsMax = 3

/**
 * Records the tries of one endpoint. Those that end while a statement runs share the next one: the
 * busier the endpoint, the fewer statements a try. The last try that an address gets disables its
 * endpoint as it is recorded.
 */
export function createTryRecorder(
  delivering: DeliveryContext,
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
    running = persistently(() => record(delivering, reference, batch))
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
  if (!batch.some(({ isGivenUp }) => isGivenUp)) {
    await recordTries(
      database,
      reference,
      batch.map(({ tried }) => tried),
    )
    return
  }
  const isDisabled = await database.transaction((connection) =>
    recordLast(connection, reference, batch),
  )
  if (isDisabled) observe.disabled(reference)
}

/** @returns whether the endpoint is disabled by it. */
async function recordLast(
  connection: Connection,
  reference: WebhookReference,
  batch: readonly TryResult[],
): Promise<boolean> {
  const { clientId, webhookId } = reference
  const target = await holdWebhookTarget(connection, clientId, webhookId)
  const isLast = ({ isGivenUp, urlSince }: TryResult) =>
    isGivenUp && target?.status === 'Enabled' && +target.urlSince === +urlSince
  const tries = batch.map((result) =>
    result.isGivenUp && !isLast(result) ? goesOn(result) : result.tried,
  )
  const decided = await recordTries(connection, reference, tries)
  const isDisabled = batch.some((each) => isLast(each) && decided.has(each.tried.position))
  if (isDisabled) await disableWebhook(connection, clientId, webhookId)
  return isDisabled
}

/** What the address before could not be given goes to the present one at once. */
const goesOn = ({ tried }: TryResult): TriedDelivery => ({
  ...tried,
  status: 'Pending',
  dueInSeconds: 0,
})

async function persistently(work: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      if (attempt === attemptsMax) throw error
    }
  }
}
