import type { AuthorizationCheck } from '../../domain/authorization-check.ts'
import type { PublicToken } from '../../domain/identifiers.ts'
import type { NewAuthorizationRecord } from '../../storage/cards/new-authorizations.ts'
import { newEventId } from '../../storage/events/events.ts'
import type { AuthorizationRequest, ResponseCode } from './authorization.ts'

type NewCheck = Omit<AuthorizationCheck, 'afterMs' | 'responseCode'> & {
  readonly responseCode?: string | undefined
}

/** The checks of one question, as they are made. */
interface Trail {
  note(check: NewCheck): void
  readonly checks: readonly AuthorizationCheck[]
  durationMs(): number
}

/** A question with what was found out about it until now. */
export interface TracedQuestion extends AuthorizationRequest {
  readonly trail: Trail
}

/** Begins to note what a question's checks come to. */
export function traced(asked: AuthorizationRequest): TracedQuestion {
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
  return { ...asked, trail: { note, checks, durationMs } }
}

/** What is kept of an authorization that came to an answer. */
export const recordOf = (
  { entryMode, networkId, reference, requestId, trail }: TracedQuestion,
  { publicToken }: { readonly publicToken: PublicToken },
  responseCode: ResponseCode,
): NewAuthorizationRecord => ({
  publicToken,
  authorizationId: newEventId(),
  networkId,
  requestId,
  reference,
  entryMode,
  responseCode,
  checks: JSON.stringify(trail.checks),
  durationMs: trail.durationMs(),
})
