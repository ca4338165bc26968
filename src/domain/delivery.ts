/** Where the plastic of a physical card is. */
export const deliveryStatuses = [
  'Ordered',
  'Produced',
  'Shipped',
  'Delivered',
  'Returned',
  'Cancelled',
] as const

export type DeliveryStatus = (typeof deliveryStatuses)[number]

/** The statuses that the bureau reports. An order is cancelled by the card's client. */
export const reportedStatuses = ['Produced', 'Shipped', 'Delivered', 'Returned'] as const

export type ReportedStatus = (typeof reportedStatuses)[number]

/**
 * The statuses that the bureau may report next. A returned plastic is at its end,
 * unless the client cancels its renewal.
 */
export const deliveryMoves: Readonly<Record<DeliveryStatus, readonly ReportedStatus[]>> = {
  Ordered: ['Produced', 'Returned'],
  Produced: ['Shipped', 'Returned'],
  Shipped: ['Delivered', 'Returned'],
  Delivered: ['Returned'],
  Returned: [],
  Cancelled: [],
}

/** Lists the reports that take a plastic from one status to another in order; null if none do. */
export function listReports(from: DeliveryStatus, to: ReportedStatus): ReportedStatus[] | null {
  if (from === to) return []
  const [next] = deliveryMoves[from]
  if (next === undefined) return null
  if (to === 'Returned') return [to]
  const rest = listReports(next, to)
  return rest && [next, ...rest]
}

/**
 * Whether the bureau needs what is printed on a plastic, and where it is sent. A shipped one may
 * still be looked for.
 */
export const needsCardHolder: Readonly<Record<DeliveryStatus, boolean>> = {
  Ordered: true,
  Produced: true,
  Shipped: true,
  Delivered: false,
  Returned: false,
  Cancelled: false,
}

/** The greatest number of plastics in a batch. */
export const batchSizeMax = 500

/** The detail of a 404. */
export const noPlastic = 'The card has no physical plastic with this number.'
