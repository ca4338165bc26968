import { html } from '../listeners/http/html.ts'
import { toProblem } from './console.ts'
import { ledTo, refusal } from './desk-parts.ts'
import type { Lead, Page, Visit } from './screen.ts'

/** The call that a form makes. */
interface Asked {
  readonly body?: object
  /** The target after success and after a refusal. */
  readonly to: string
}

/**
 * Makes the call of a form, then redirects to its screen or to the approval, or renders the
 * refusal.
 */
export async function actAndReturn(
  visit: Visit,
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  address: string,
  { body, to }: Asked,
): Promise<Lead | Page> {
  const answer = await visit.call(method, address, body)
  const led = ledTo(answer, { to, notice: { tone: 'good', lines: ['Done and recorded.'] } })
  if (led) return led
  const problem = toProblem(answer)
  return {
    title: 'No change was made',
    status: problem.status,
    body: html`${refusal(problem)}<p><a href="${to}">Back</a></p>`,
  }
}
