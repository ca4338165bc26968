import { Readable } from 'node:stream'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { roles, scopesByRole } from '../domain/person.ts'
import { Problem, type ProblemCode } from '../domain/problem.ts'
import { listNeededScopes } from '../listeners/http/authentication.ts'
import { type Content, html } from '../listeners/http/html.ts'
import { pageHeaders } from '../listeners/http/page-headers.ts'
import { toProblem } from '../listeners/http/problems.ts'
import type { AnswerBadUrl } from '../listeners/http/server.ts'
import { nameRole } from './desk-parts.ts'
import { type Frame, layout } from './layout.ts'
import type { Page, PageFile, Screen } from './screen.ts'

/** Sends a page with all headers of pages. */
export const sendPage = (
  reply: FastifyReply,
  page: Page,
  frame: Frame | null = null,
): FastifyReply =>
  reply
    .code(page.status ?? 200)
    .headers(pageHeaders)
    .type('text/html; charset=utf-8')
    .send(String(layout(page, frame)))

/** Sends the file of a page piece by piece. */
export const sendFile = (reply: FastifyReply, { lines, mediaType, name }: PageFile): FastifyReply =>
  reply
    .headers(pageHeaders)
    .header('content-disposition', `attachment; filename="${name}"`)
    .type(mediaType)
    .send(Readable.from(lines))

/** The page for people whose roles do not include the screen. */
export const refusedPage = (access: Screen['access']): Page => {
  const needed = access === 'anyone' ? [] : listNeededScopes(access)
  const allowed = roles.filter((role) => scopesByRole[role].some((each) => needed.includes(each)))
  return {
    title: 'Not for your role',
    status: 403,
    body: html`<p>This page is for ${allowed.map(nameRole).join(', ') || 'no role'}.
      Ask the administrator of roles at your company.</p>`,
  }
}

/** The page of an address that may contain a card number, whichever screen it names. */
export const panInAddressPage: Page = {
  title: 'The address may contain a card number',
  status: 422,
  body: html`<p>
    An address must not contain a card number. No search was made. Remove the address from the
    history of the browser, and enter the number in the field <b>Find a card</b>.
  </p>`,
}

export const readOnlyPage: Page = {
  title: 'The console is read-only',
  status: 403,
  body: html`<p>No change was made: CONSOLE_READ_ONLY is set for the service.</p>`,
}

/**
 * @param to the page after the next sign-in
 * @param isFormStored whether that page shows again what was typed
 */
export const signedOutPage = (to: string, isFormStored = false): Page => ({
  title: 'You are signed out',
  status: 401,
  body: html`<p>
      No change was made.${
        isFormStored &&
        ' What you typed is kept for ten minutes: sign in here, and send the form again.'
      }
    </p>
    <p><a class="button" href="/console/sign-in?to=${encodeURIComponent(to)}">Sign in</a></p>`,
})

/**
 * Renders a failure for people.
 * @param sendAgain the form whose request failed, to be sent again; null without one
 */
export function problemPage(
  error: unknown,
  { id, log }: FastifyRequest,
  sendAgain: Content = null,
): Page {
  const problem = error instanceof Problem ? error : new Problem('internal_error', { cause: error })
  if (problem.status >= 500 && !problem.isExpected)
    log.error({ requestId: id, err: problem.cause ?? problem }, problem.title)
  const errors = problem.errors?.map(
    ({ detail, parameter, pointer }) => html`<li>${parameter ?? pointer} ${detail}</li>`,
  )
  return {
    title: titleForPeople(problem),
    status: problem.status,
    body: html`${problem.detail && html`<p>${problem.detail}</p>`}
      ${errors && errors.length > 0 && html`<ul>${errors}</ul>`}
      ${sendAgain ?? html`<p>${adviseOn(problem)}</p>`}
      <p><a class="button" href="/console">Home</a></p>
      <p class="fine">Request <code>${id}</code></p>`,
  }
}

/** Titles where that of the problem speaks to a client, which a person at the console is not. */
const titlesForPeople: Partial<Record<ProblemCode, string>> = {
  card_not_found: 'There is no card with this token.',
  validation_failed: 'Some of what was entered is not valid.',
}

/** Returns the title of a problem in words for people. */
export const titleForPeople = ({ code, title }: Problem): string => titlesForPeople[code] ?? title

/** Returns what to do about a failure. */
function adviseOn({ status }: Problem): string {
  if (status === 404) return 'Check the address. It may belong to something that was deleted.'
  if (status === 429) return 'Wait a moment, then load the page again.'
  if (status >= 500) {
    return 'Load the page again. If it fails again, give the request below to an administrator.'
  }
  return 'No change was made. Go back, correct it, and try again.'
}

/** Answers a failure outside any page. The page assumes no signed-in person. */
export function sendProblemPage(
  error: FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
  sendAgain: Content = null,
): FastifyReply {
  const problem = toProblem(error, request, {})
  const again = problem.status >= 500 ? sendAgain : null
  return sendPage(reply.headers(problem.headers), problemPage(problem, request, again))
}

/** Answers an address of the console that is not percent-encoded UTF-8; null for another one. */
export const answerBadUrl: AnswerBadUrl = (error, request, reply) =>
  /^\/console(?:[/?]|$)/.test(request.url) ? sendProblemPage(error, request, reply) : null
