import { html } from '../listeners/http/html.ts'
import { toProblem } from './console.ts'
import { ledTo, refusal } from './desk-parts.ts'
import type { Lead, Page, Visit } from './screen.ts'

/** What a form has the listener do. */
interface Asked {
  readonly body?: object
  /** Where it leads, whether it was done or not. */
  readonly to: string
}

/**
 * Does what a form is for: it leads back to its screen, to the approval that it waits for, or to a
 * page that says why not.
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
