import { toProblem } from './console.ts'
import { ledTo } from './desk-parts.ts'
import type { Lead, Visit } from './screen.ts'

/** The call that a form makes. */
interface Asked {
  readonly body?: object
  /** The target after success. */
  readonly to: string
  /** What has changed, for the notice there. */
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
  const led = ledTo(answer, { to, notice: { tone: 'good', lines: [done] } })
  if (led) return led
  throw toProblem(answer)
}
