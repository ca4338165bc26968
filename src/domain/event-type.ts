/**
 * The acts that events report (docs/reference/webhooks.md). They stand alone: schemas,
 * statements and subscriptions name events by this one list.
 */
export const eventTypes = [
  'card.created',
  'card.status_changed',
  'card_data.revealed',
  'pin.set',
  'pin.revealed',
  'pin.attempt_failed',
  'pin.blocked',
  'pin.unblocked',
  'cvv.attempt_failed',
  'cvv.blocked',
  'cvv.unblocked',
] as const

export type EventType = (typeof eventTypes)[number]

/** Whether a text names one of them. */
export const isEventType = (text: string): text is EventType =>
  eventTypes.some((type) => type === text)
