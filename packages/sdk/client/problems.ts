import { Problem } from './errors.ts'

/*
 * A class for each code, so that `catch` can use `instanceof` as well as `code`. The service
 * explains each at `/problems/{code}`.
 */

export class MalformedRequest extends Problem {
  declare readonly code: 'malformed_request'
}

export class Unauthenticated extends Problem {
  declare readonly code: 'unauthenticated'
}

export class InsufficientScope extends Problem {
  declare readonly code: 'insufficient_scope'
}

export class NotFound extends Problem {
  declare readonly code: 'not_found'
}

export class CardNotFound extends Problem {
  declare readonly code: 'card_not_found'
}

export class MethodNotAllowed extends Problem {
  declare readonly code: 'method_not_allowed'
}

export class CardClosed extends Problem {
  declare readonly code: 'card_closed'
}

export class CardAlreadyReplaced extends Problem {
  declare readonly code: 'card_already_replaced'
}

export class NotReplaced extends Problem {
  declare readonly code: 'not_replaced'
}

export class PinNotTransferable extends Problem {
  declare readonly code: 'pin_not_transferable'
}

export class CardStatusConflict extends Problem {
  declare readonly code: 'card_status_conflict'
}

export class RenewalNotDue extends Problem {
  declare readonly code: 'renewal_not_due'
}

export class RenewalInProgress extends Problem {
  declare readonly code: 'renewal_in_progress'
}

export class NothingToMigrate extends Problem {
  declare readonly code: 'nothing_to_migrate'
}

export class RenewalProduced extends Problem {
  declare readonly code: 'renewal_produced'
}

export class TooManyPlastics extends Problem {
  declare readonly code: 'too_many_plastics'
}

export class ConversionNotSupported extends Problem {
  declare readonly code: 'conversion_not_supported'
}

export class ControlsVersionConflict extends Problem {
  declare readonly code: 'controls_version_conflict'
}

export class DecisionVersionConflict extends Problem {
  declare readonly code: 'decision_version_conflict'
}

export class DecisionAnswered extends Problem {
  declare readonly code: 'decision_answered'
}

export class DecisionOver extends Problem {
  declare readonly code: 'decision_over'
}

export class PinNotRevealable extends Problem {
  declare readonly code: 'pin_not_revealable'
}

export class CardWithoutChip extends Problem {
  declare readonly code: 'card_without_chip'
}

export class DeliveryConflict extends Problem {
  declare readonly code: 'delivery_conflict'
}

export class TooManyChipCommands extends Problem {
  declare readonly code: 'too_many_chip_commands'
}

export class VirtualChipUnusable extends Problem {
  declare readonly code: 'virtual_chip_unusable'
}

export class IdempotencyKeyInUse extends Problem {
  declare readonly code: 'idempotency_key_in_use'
}

export class BodyTooLarge extends Problem {
  declare readonly code: 'body_too_large'
}

export class UnsupportedMediaType extends Problem {
  declare readonly code: 'unsupported_media_type'
}

export class MisdirectedRequest extends Problem {
  declare readonly code: 'misdirected_request'
}

export class ValidationFailed extends Problem {
  declare readonly code: 'validation_failed'
}

export class ProductNotAvailable extends Problem {
  declare readonly code: 'product_not_available'
}

export class DecisionPingFailed extends Problem {
  declare readonly code: 'decision_ping_failed'
}

export class WeakPin extends Problem {
  declare readonly code: 'weak_pin'
}

export class InvalidSessionKey extends Problem {
  declare readonly code: 'invalid_session_key'
}

export class InvalidEncryptedPin extends Problem {
  declare readonly code: 'invalid_encrypted_pin'
}

export class IdempotencyKeyReused extends Problem {
  declare readonly code: 'idempotency_key_reused'
}

export class RateLimited extends Problem {
  declare readonly code: 'rate_limited'
}

export class InternalError extends Problem {
  declare readonly code: 'internal_error'
}

export class Unavailable extends Problem {
  declare readonly code: 'unavailable'
}

/** All codes that a client system can receive, with their classes. */
export const problemClasses = {
  malformed_request: MalformedRequest,
  unauthenticated: Unauthenticated,
  insufficient_scope: InsufficientScope,
  not_found: NotFound,
  card_not_found: CardNotFound,
  method_not_allowed: MethodNotAllowed,
  card_closed: CardClosed,
  card_already_replaced: CardAlreadyReplaced,
  not_replaced: NotReplaced,
  pin_not_transferable: PinNotTransferable,
  card_status_conflict: CardStatusConflict,
  renewal_not_due: RenewalNotDue,
  renewal_in_progress: RenewalInProgress,
  nothing_to_migrate: NothingToMigrate,
  renewal_produced: RenewalProduced,
  too_many_plastics: TooManyPlastics,
  conversion_not_supported: ConversionNotSupported,
  controls_version_conflict: ControlsVersionConflict,
  decision_version_conflict: DecisionVersionConflict,
  decision_answered: DecisionAnswered,
  decision_over: DecisionOver,
  pin_not_revealable: PinNotRevealable,
  card_without_chip: CardWithoutChip,
  delivery_conflict: DeliveryConflict,
  too_many_chip_commands: TooManyChipCommands,
  virtual_chip_unusable: VirtualChipUnusable,
  idempotency_key_in_use: IdempotencyKeyInUse,
  body_too_large: BodyTooLarge,
  unsupported_media_type: UnsupportedMediaType,
  misdirected_request: MisdirectedRequest,
  validation_failed: ValidationFailed,
  product_not_available: ProductNotAvailable,
  decision_ping_failed: DecisionPingFailed,
  weak_pin: WeakPin,
  invalid_session_key: InvalidSessionKey,
  invalid_encrypted_pin: InvalidEncryptedPin,
  idempotency_key_reused: IdempotencyKeyReused,
  rate_limited: RateLimited,
  internal_error: InternalError,
  unavailable: Unavailable,
} as const

/** The stable code of a refusal. */
export type ProblemCode = keyof typeof problemClasses
