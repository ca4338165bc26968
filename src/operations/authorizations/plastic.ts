import { findPresentedPlastic } from '../../domain/card-life.ts'
import { usualChip } from '../../domain/product-chip.ts'
import type { DeclineCode } from '../../domain/response-code.ts'
import type { AuthorizedCard } from '../../storage/authorizations/begin.ts'
import type { AuthorizationRequest } from './authorization.ts'
import type { TracedRequest } from './trace.ts'

/**
 * Whether a request comes from the plastic, and not from its number. A contactless request without
 * chip data may come from a telephone.
 */
export const isPlasticUsed = ({ chip, entryMode }: AuthorizationRequest): boolean =>
  chip !== undefined || entryMode === 'chip' || entryMode === 'magstripe' || entryMode === 'atm'

/**
 * Returns the objection to the expiry and the plastic of a request. The expiry picks the plastic;
 * without one, it is the current plastic.
 */
export function objectToPlastic(traced: TracedRequest, card: AuthorizedCard): DeclineCode | null {
  const { note } = traced.trail
  const { expiryDate } = traced
  const isCurrent = expiryDate === undefined || expiryDate === card.expiryDate.slice(0, 7)
  if (!isCurrent && expiryDate !== card.waitingExpiryDate?.slice(0, 7)) {
    note({ check: 'expiry', result: 'failed', responseCode: '54' })
    return '54'
  }
  note({ check: 'expiry', result: expiryDate === undefined ? 'not_given' : 'passed' })
  const objection = isCurrent ? objectToCurrent(traced, card) : '78'
  if (objection) note({ check: 'plastic', result: 'failed', responseCode: objection })
  return objection
}

/** `78` for a plastic that is not activated yet, `54` for one that is no longer used. */
function objectToCurrent(traced: TracedRequest, card: AuthorizedCard): '54' | '78' | null {
  const { expiryDate, isPlasticInactive } = card
  // The card has not expired, because the plastic that waits reaches further.
  if (expiryDate < traced.at.toISOString().slice(0, 10)) return '54'
  if (isPlasticInactive && isPlasticUsed(traced)) return '78'
  return objectToChipNumber(traced, card)
}

function objectToChipNumber(
  { presentedChip }: TracedRequest,
  card: AuthorizedCard,
): '54' | '78' | null {
  const panSequenceNumber = presentedChip?.panSequenceNumber ?? null
  if (panSequenceNumber === null) return null
  const { productChip, waitingExpiryDate } = card
  const first = productChip?.firstPanSequenceNumber ?? usualChip.firstPanSequenceNumber
  const presented = findPresentedPlastic(panSequenceNumber, card, first)
  if (presented === 'newest' && waitingExpiryDate !== null) return '78'
  return presented === 'newest' || presented === 'former' ? '54' : null
}
