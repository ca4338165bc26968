import type { AddressOutcome } from '../../domain/address-check.ts'
import type { AuthorizationCheck } from '../../domain/authorization-check.ts'
import type { PresentedChip } from '../chips/presented-chip.ts'
import type { AuthorizationRequest } from './authorization.ts'

type NewCheck = Omit<AuthorizationCheck, 'afterMs' | 'responseCode'> & {
  readonly responseCode?: string | undefined
}

/** A request with its checks so far. */
export interface TracedRequest extends AuthorizationRequest {
  /** The instant at which the card must be valid, and from which a hold counts. */
  readonly at: Date
  /** The result of the comparison of the address, if the request has one. */
  readonly address?: AddressOutcome
  /** The chip of the request, as it was read. */
  readonly presentedChip?: PresentedChip
  readonly trail: {
    note(check: NewCheck): void
    /** Deletes a check and all that follow it. */
    rewindTo(check: AuthorizationCheck['check']): void
    readonly checks: readonly AuthorizationCheck[]
    durationMs(): number
  }
}

/** Begins the list of checks of a request. */
export function traceRequest(request: AuthorizationRequest, at: Date): TracedRequest {
  const fromMs = performance.now()
  const durationMs = () => Math.round(performance.now() - fromMs)
  const checks: AuthorizationCheck[] = []
  const note = ({ responseCode, ...check }: NewCheck) => {
    checks.push({
      ...check,
      afterMs: durationMs(),
      ...(responseCode !== undefined && { responseCode }),
    })
  }
  const rewindTo = (name: AuthorizationCheck['check']) => {
    const at = checks.findIndex(({ check }) => check === name)
    if (at >= 0) checks.length = at
  }
  return { ...request, at, trail: { note, rewindTo, checks, durationMs } }
}
