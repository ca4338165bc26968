import { randomUUID } from 'node:crypto'
import { formatDate } from '../../domain/calendar.ts'
import type { Requester } from '../../domain/client.ts'
import { batchSizeMax, type DeliveryStatus, needsCardHolder } from '../../domain/delivery.ts'
import type { ProductId, PublicToken } from '../../domain/identifiers.ts'
import { Problem } from '../../domain/problem.ts'
import type { CardType } from '../../domain/product.ts'
import type { Hsm } from '../../hsm/contract/hsm.ts'
import * as storedBatches from '../../storage/bureau/batches.ts'
import { cancelIdleOrder } from '../../storage/bureau/deliveries.ts'
import type { Connection, Database } from '../../storage/engine/database.ts'
import { recordAct } from '../acts/acts.ts'
import type { CardContext } from '../cards/cards.ts'
import { revealFreeTexts } from '../cards/free-texts.ts'
import { type Address, type CardHolder, revealPersonalData } from '../cards/personal-data.ts'
import { type Answer, once, type RepeatableRequest } from '../idempotency/idempotency.ts'

/** A batch of plastics that the bureau makes together. */
interface Batch {
  readonly batchId: string
  /** RFC 3339, UTC. */
  readonly takenAt: string
  readonly acknowledgedAt: string | null
  readonly plasticCount: number
}

/**
 * Takes the oldest ordered plastics into a batch of the bureau's client. Orders that are no longer
 * to be made are cancelled.
 * @returns null if no plastic is ordered.
 */
export async function takeBatch(
  context: CardContext,
  bureau: Requester,
  limit: number,
  request: RepeatableRequest | null,
): Promise<Answer<Batch | null>> {
  const now = context.now()
  await cancelIdleOrders(context.database, formatDate(now))
  const { clientId } = bureau
  return once(context, request, async (connection) => {
    const key = { batchId: randomUUID(), clientId }
    const plasticCount = await takeOldest(connection, key, now, limit)
    if (plasticCount === 0) return null
    // The batch discloses names and addresses to the bureau.
    await recordAct(connection, bureau, {
      act: 'plastics taken',
      subjectKind: 'client',
      subject: clientId,
      details: { batchId: key.batchId, plasticCount },
    })
    return composeBatch(await requireBatch(connection, key))
  })
}

/** A batch meets so many others at most that take the same plastics. */
const othersMax = 20

/**
 * Takes the oldest orders. Those that another batch takes meanwhile are followed by others.
 * @throws `Problem` `unavailable` if others take all of them, again and again.
 */
async function takeOldest(
  connection: Connection,
  batch: { readonly batchId: string; readonly clientId: string },
  now: Date,
  limit: number,
): Promise<number> {
  for (let others = 0; others <= othersMax; others += 1) {
    const orders = await storedBatches.listOrders(connection, formatDate(now), limit)
    const open = orders.filter(({ isOpen }) => isOpen)
    const taken = await storedBatches.takePlastics(connection, batch, open, now)
    if (taken > 0 || open.length === 0) return taken
  }
  throw new Problem('unavailable', { detail: 'Other batches take the same plastics.' })
}

/** The orders that one call looks through, in steps of the largest batch. */
const stepsMax = 20

/**
 * Cancels all orders of closed cards, which would stand before those of open ones.
 * @throws `Problem` `unavailable` if more are left than one call cancels. A repeat resumes.
 */
async function cancelIdleOrders(database: Database, today: string): Promise<void> {
  for (let steps = 1; steps <= stepsMax; steps += 1) {
    let isProgress = false
    const orders = await storedBatches.listOrders(database, today, batchSizeMax)
    for (const { isOpen, ...plastic } of orders) {
      if (!isOpen && (await cancelIdleOrder(database, plastic, today))) isProgress = true
    }
    if (!isProgress) return
  }
  throw new Problem('unavailable', {
    detail: 'Many orders of closed cards are being cancelled. Repeat the request.',
  })
}

/** A batch by its id, for the bureau's client that took it. */
interface BatchRequest {
  readonly batchId: string
}

/** Returns a batch of the bureau's client. @throws `Problem` `not_found`. */
export async function findBatch(
  { database }: Pick<CardContext, 'database'>,
  { clientId }: Requester,
  { batchId }: BatchRequest,
): Promise<Batch> {
  return composeBatch(await requireBatch(database, { batchId, clientId }))
}

/** A page of the batches of a bureau's client. */
interface BatchesRequest {
  readonly isUnacknowledged: boolean
  readonly before: storedBatches.BatchPosition | null
  readonly limit: number
}

/** Lists the batches of the bureau's client, newest first. */
export async function listBatches(
  { database }: Pick<CardContext, 'database'>,
  { clientId }: Requester,
  { before, isUnacknowledged, limit }: BatchesRequest,
): Promise<Batch[]> {
  const position = before ?? storedBatches.newestBatch
  const list = { clientId, isUnacknowledged, position, limit }
  return (await storedBatches.listBatches(database, list)).map(composeBatch)
}

/**
 * Records that the bureau has everything of a batch. A repeat keeps the first time.
 * @throws `Problem` `not_found`.
 */
export const acknowledgeBatch = (
  context: CardContext,
  { clientId }: Requester,
  { batchId }: BatchRequest,
  request: RepeatableRequest | null,
): Promise<Answer<null>> =>
  once(context, request, async (connection) => {
    const batch = { batchId, clientId }
    const isDone = await storedBatches.acknowledgeBatch(connection, batch, context.now())
    if (!isDone) throw new Problem('not_found', { detail: noBatch })
    return null
  })

/** A plastic with everything that the bureau prints, except the number of the card. */
interface BatchPlastic {
  readonly publicToken: PublicToken
  readonly plasticNumber: number
  readonly reason: storedBatches.BatchPlasticRow['reason']
  readonly productId: ProductId
  readonly cardType: CardType
  readonly designId?: string
  readonly maskedPan: string
  readonly startDate: string
  readonly expiryDate: string
  /** Absent, as all personal data and texts, once the bureau needs them no more. */
  readonly embossName?: string
  readonly cardHolder?: Pick<CardHolder, 'title' | 'firstName' | 'middleName' | 'lastName'>
  /** Where it is sent. */
  readonly address?: Address
  readonly freetext1?: string
  readonly freetext2?: string
  readonly deliveryStatus: DeliveryStatus
}

/** A page of the plastics of a batch. */
interface PlasticsRequest extends BatchRequest {
  readonly after: storedBatches.PlasticPosition | null
  readonly limit: number
}

/**
 * Lists the plastics of a batch by card and number, and one more than fits the page if there is
 * another page. The reading of personal data is recorded before.
 * @throws `Problem` `not_found`.
 */
export async function listBatchPlastics(
  { database, hsm }: CardContext,
  bureau: Requester,
  { after, batchId, limit }: PlasticsRequest,
): Promise<BatchPlastic[]> {
  const { clientId } = bureau
  await requireBatch(database, { batchId, clientId })
  const position = after ?? storedBatches.firstPlastic
  const rows = await storedBatches.listPlasticsOfBatch(database, batchId, position, limit + 1)
  const plasticCount = rows.slice(0, limit).filter(isStillNeeded).length
  if (plasticCount > 0) {
    await recordAct(database, bureau, {
      act: 'plastics read',
      subjectKind: 'client',
      subject: clientId,
      details: { batchId, plasticCount },
    })
  }
  const plastics: BatchPlastic[] = []
  for (const row of rows) plastics.push(await composePlastic(hsm, row))
  return plastics
}

/** Whether the bureau still needs the personal data and the texts of a plastic. */
const isStillNeeded = ({ deliveryStatus }: storedBatches.BatchPlasticRow): boolean =>
  needsCardHolder[deliveryStatus]

async function composePlastic(hsm: Hsm, row: storedBatches.BatchPlasticRow): Promise<BatchPlastic> {
  const { designId, freeTexts, personalData, ...facts } = row
  return {
    ...facts,
    ...(designId !== null && { designId }),
    ...(isStillNeeded(row) && (await revealRecipient(hsm, row))),
  }
}

/** Reveals what is printed on a plastic, where it is sent, and the texts of the client. */
async function revealRecipient(
  hsm: Hsm,
  { freeTexts, personalData, plasticNumber, publicToken }: storedBatches.BatchPlasticRow,
) {
  const revealed = await revealPersonalData(hsm, publicToken, personalData)
  const { address, cardHolder, embossName, fulfilment } = revealed
  const { firstName, lastName, middleName, title } = cardHolder
  return {
    embossName,
    cardHolder: {
      ...(title !== undefined && { title }),
      firstName,
      ...(middleName !== undefined && { middleName }),
      lastName,
    },
    address: fulfilment ?? address,
    ...(freeTexts && (await revealFreeTexts(hsm, publicToken, plasticNumber, freeTexts))),
  }
}

/** The detail of a 404. */
export const noBatch = 'Your client took no batch with this batchId.'

async function requireBatch(
  connection: Connection,
  batch: { readonly batchId: string; readonly clientId: string },
): Promise<storedBatches.BatchRow> {
  const row = await storedBatches.findBatch(connection, batch)
  if (!row) throw new Problem('not_found', { detail: noBatch })
  return row
}

const composeBatch = ({
  acknowledgedAt,
  batchId,
  plasticCount,
  takenAt,
}: storedBatches.BatchRow): Batch => ({
  batchId,
  takenAt: takenAt.toISOString(),
  acknowledgedAt: acknowledgedAt?.toISOString() ?? null,
  plasticCount,
})
