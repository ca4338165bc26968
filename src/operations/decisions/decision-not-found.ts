import { isUuid } from '../../domain/identifiers.ts'
import { Problem } from '../../domain/problem.ts'

/** Names the id only if it is one, since a path may contain anything. */
export const decisionNotFound = (decisionId: string): Problem =>
  new Problem('not_found', {
    detail: isUuid(decisionId)
      ? `Your client has no decision ${decisionId}.`
      : 'The decisionId must be a UUID.',
  })
