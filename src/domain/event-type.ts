/**
 * The acts that events report (docs/reference/webhooks.md). Schemas, statements and subscriptions
 * use this one list.
 */
export const eventTypes = [
  'card.created',
  'card.status_changed',
  'card.controls_changed',
  'card.changed',
  'card.renewal_ordered',
  'card.renewed',
  'card.renewal_cancelled',
  'card.converted',
  'card.replaced',
  'card.activated',
  'card.retired',
  'card.renewal_due',
  'card.delivery_changed',
  'card_data.revealed',
  'pin.set',
  'pin.revealed',
  'pin.attempt_failed',
  'pin.blocked',
  'pin.unblocked',
  'cvv.attempt_failed',
  'cvv.blocked',
  'cvv.unblocked',
  'authorization.approved',
  'authorization.declined',
  'decision.late',
  'decision_endpoint.degraded',
  'decision_endpoint.recovered',
  'payment.changed',
  'payment.forced',
  'payment.expired',
  'chip.command_queued',
  'chip.command_sent',
  'chip.command_done',
  'chip.command_failed',
  'chip.command_unconfirmed',
] as const

export type EventType = (typeof eventTypes)[number]

/** Whether a text is the type of an event. */
export const isEventType = (text: string): text is EventType =>
  eventTypes.some((type) => type === text)
