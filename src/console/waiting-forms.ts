import type { FastifyRequest } from 'fastify'
import { holdsPan, withoutUuids } from '../domain/pan.ts'
import { type Content, html } from '../listeners/http/html.ts'
import { hasDigitsOfPan } from './address.ts'
import { storeOneTimeAnswer } from './notice.ts'
import { type Form, formFieldNames, type RefusedForm } from './screen.ts'
import {
  type CookieSession,
  holdsFormToken,
  isFromOwnPage,
  parseForm,
  readSecret,
  type SessionOptions,
} from './session.ts'

/**
 * Returns a form as a page may show it again: without a PIN or a CVV, without a search for what may
 * be a card number, and with no digits in any other line that contains one.
 */
export function omitSecrets({ cvv: _, offlinePin: __, pin: ___, text, ...form }: Form): Form {
  const { [formFieldNames.token]: token, [formFieldNames.key]: key, ...typed } = form
  const masked = Object.entries(typed).map(([name, value]) => [name, maskPans(value)])
  return {
    ...Object.fromEntries(masked),
    ...(token !== undefined && { [formFieldNames.token]: token }),
    ...(key !== undefined && { [formFieldNames.key]: key }),
    ...(text !== undefined && !hasDigitsOfPan(text) && { text }),
  }
}

/** Items of a list are looked at one by one: two tokens beside each other are no card number. */
const maskPans = (text: string): string =>
  text.replaceAll(/[^\r\n,;]+/g, (item) =>
    holdsPan(withoutUuids(item)) ? item.replaceAll(/\p{Nd}/gu, '•') : item,
  )

/**
 * Renders a form whose request the service could not answer, to be sent again as it was. Its
 * idempotency key makes it act once, even if the first request was executed.
 * @returns null if it was not sent from a page of the sign-in of this browser
 */
export function sendAgainForm(options: SessionOptions, request: FastifyRequest): Content {
  const form = parseForm(request.body)
  if (request.method !== 'POST' || !isOwnForm(options, request, form)) return null
  const kept = omitSecrets(form)
  const typed = kept.reason && html`<p>Reason: <q>${kept.reason}</q></p>`
  if (Object.entries(form).some(([name, value]) => kept[name] !== value)) {
    return html`${typed}
      <p>Go back and enter the secret values again. This page does not keep them.</p>`
  }
  return html`<form method="post" action="${readAction(request)}">
    ${typed}
    <p>
      What you typed is kept on this page. Send it again when the service answers: it acts once,
      even if the first request was executed.
    </p>
    ${Object.entries(form).map(
      ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
    )}
    <button>Send again</button>
  </form>`
}

/** Whether a page of this console sent a form, with the token of the browser's last sign-in. */
function isOwnForm(options: SessionOptions, request: FastifyRequest, form: Form): boolean {
  const secret = readSecret(options, request)
  return secret !== null && holdsFormToken({ secret }, form) && isFromOwnPage(options, request)
}

/** Returns the path that a form was sent to. */
export const readAction = ({ url }: Pick<FastifyRequest, 'url'>): string => url.split('?')[0] ?? ''

/**
 * Stores a form whose session is over by time, for the page after the next sign-in of the same
 * person in the same browser.
 * @param to the page of the form
 * @returns whether it is stored
 */
export async function storeWaitingForm(
  options: SessionOptions,
  request: FastifyRequest,
  to: string,
  form: Form,
): Promise<boolean> {
  const secret = readSecret(options, request)
  if (secret === null || !isOwnForm(options, request, form)) return false
  await storeOneTimeAnswer(options.people, secret, {
    to,
    notice: null,
    kept: omitSecrets(form),
    waiting: readAction(request),
  })
  return true
}

/** Stores the reason of a form that needs a fresh sign-in, for the page after that sign-in. */
export async function storeReason(
  { people }: Pick<SessionOptions, 'people'>,
  { secret }: Pick<CookieSession, 'secret'>,
  to: string,
  form: Form,
): Promise<void> {
  const { reason } = omitSecrets(form)
  if (!reason) return
  await storeOneTimeAnswer(people, secret, { to, notice: null, kept: { reason }, waiting: null })
}

/** How the page of a form says why it was not sent. */
type Refusal = RefusedForm['problem']

const sendAgain = 'The form has what you typed. Send it again if you still want this.'

/** Of a form that waited for a sign-in. */
export const refusedUntilSignIn: Refusal = {
  status: 401,
  title: 'You were signed out when you sent this form.',
  detail: sendAgain,
  errors: [],
}

/** Of a form of a page that was loaded before the last sign-in of this browser. */
export const refusedSinceSignIn: Refusal = {
  status: 409,
  title: 'You have signed in again since this page was loaded.',
  detail: sendAgain,
  errors: [],
}

/** Of a form that was changed and sent again, such as after a step back. */
export const refusedAsRepeated: Refusal = {
  status: 422,
  title: 'This form was sent before, with another content.',
  detail: `See first what became of it. ${sendAgain}`,
  errors: [],
}
