import { parseProblem } from './listener-answers.ts'
import type { ApiAnswer, Lead, Visit } from './screen.ts'

/** The call that a form makes. */
interface Asked {
  readonly body?: object | undefined
  /** The target after success. */
  readonly to: string
  /** The change, for the notice there. */
  readonly done: string
}

/**
 * Makes the call of a form, then redirects to its screen or to the approval.
 * @throws `Problem` of the listener
 */
export async function actAndReturn(
  visit: Visit,
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  address: string,
  { body, done, to }: Asked,
): Promise<Lead> {
  const answer = await visit.call(method, address, body)
  return leadAfter(answer, { to, notice: { tone: 'good', lines: [done] } })
}

/**
 * Returns the target after a form's call succeeded or needs an approval.
 * @param done the target after success, and the notice there.
 * @throws `Problem` of the listener
 */
export function leadAfter(answer: ApiAnswer, done: Lead): Lead {
  const { headers, status } = answer
  if (status >= 300) throw parseProblem(answer)
  if (status !== 202 || !headers.location) return done
  const asked =
    'This act needs the approval of another person. The request was made, and is executed ' +
    'after its approval.'
  return { to: `/console${headers.location}`, notice: { lines: [asked] } }
}
