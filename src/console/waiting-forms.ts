import type { FastifyRequest } from 'fastify'
import { holdsPan } from '../domain/pan.ts'
import { storeOneTimeAnswer } from './notice.ts'
import type { Form, RefusedForm } from './screen.ts'
import {
  type CookieSession,
  holdsFormToken,
  isFromOwnPage,
  readSecret,
  type SessionOptions,
} from './session.ts'

/**
 * Returns a form as a page may show it again: without a PIN or a CVV, and with no digits in a
 * reason that contains a card number.
 */
export function omitSecrets({ cvv: _, offlinePin: __, pin: ___, ...form }: Form): Form {
  const { reason } = form
  if (reason === undefined || !holdsPan(reason)) return form
  return { ...form, reason: reason.replaceAll(/\p{Nd}/gu, '•') }
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
  if (secret === null || !holdsFormToken({ secret }, form)) return false
  if (!isFromOwnPage(options, request)) return false
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
