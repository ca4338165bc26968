import { problemOfAnswer } from './console.ts'
import { ledTo, refusal } from './desk-parts.ts'
import { type Content, html } from './html.ts'
import type { Page, Visit } from './screen.ts'

/** What the form came to that led here. */
export const doneOf = ({ query: { done } }: Visit): Content =>
  done === 'yes' && html`<p class="notice good" role="status">Done, and on record.</p>`

/** What a form has the listener do. */
interface Asked {
  readonly body?: object
  /** Where it leads, whether it was done or not. */
  readonly to: string
}

/** Does what a form is for: it leads back to its screen, to the approval that it waits for, or to a page that says why not. */
export async function actAndReturn(
  visit: Visit,
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  address: string,
  { body, to }: Asked,
): Promise<{ readonly to: string } | Page> {
  const answer = await visit.call(method, address, body)
  const led = ledTo(answer, `${to}?done=yes`)
  if (led) return led
  const problem = problemOfAnswer(answer)
  return {
    title: 'Nothing was done',
    status: problem.status,
    body: html`${refusal(problem)}<p><a href="${to}">Back</a></p>`,
  }
}
