import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'
import { type Content, html } from '../listeners/http/html.ts'
import {
  consumeNotice,
  findNotice,
  type OperatorContext,
  storeNotice,
} from '../operations/people/people.ts'
import type { Form, Notice } from './screen.ts'
import type { CookieSession } from './session.ts'

/** A notice, and the fields of a form that its page shows again. */
interface OneTimeAnswer {
  /** The path of the only page that shows it. */
  readonly to: string
  readonly notice: Notice | null
  /** Fields that the form shows again. Never a PIN or a CVV. */
  readonly kept: Form
  /** The path of the form that waited for a sign-in, shown open; null without one. */
  readonly waiting: string | null
}

/**
 * The maximum age of a notice, so that no later visit shows that of a page that was never loaded.
 */
const goodForMs = 10 * 60_000

const algorithm = 'aes-256-gcm'
const nonceLength = 12
const tagLength = 16

/**
 * The database stores only the hash of a session's secret, so it cannot decrypt values encrypted
 * under the secret.
 */
const deriveKey = (secret: string): Buffer => createHmac('sha256', secret).update('notice').digest()

function sealAnswer(secret: string, answer: OneTimeAnswer): Uint8Array {
  const nonce = randomBytes(nonceLength)
  const cipher = createCipheriv(algorithm, deriveKey(secret), nonce, { authTagLength: tagLength })
  const text = JSON.stringify({ ...answer, untilMs: Date.now() + goodForMs })
  return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
}

/** @returns null when it is too old or was encrypted under another secret. */
function openAnswer(secret: string, sealed: Uint8Array): OneTimeAnswer | null {
  const bytes = Buffer.from(sealed)
  const nonce = bytes.subarray(0, nonceLength)
  const decipher = createDecipheriv(algorithm, deriveKey(secret), nonce, {
    authTagLength: tagLength,
  })
  try {
    decipher.setAuthTag(bytes.subarray(-tagLength))
    const text = [decipher.update(bytes.subarray(nonceLength, -tagLength)), decipher.final()]
    const { untilMs, ...answer } = JSON.parse(Buffer.concat(text).toString('utf8'))
    return untilMs >= Date.now() ? answer : null
  } catch {
    return null
  }
}

/** Stores an answer for its page. */
export const storeOneTimeAnswer = (
  people: OperatorContext,
  secret: string,
  answer: OneTimeAnswer,
): Promise<void> => storeNotice(people, secret, sealAnswer(secret, answer))

/** Takes the stored answer of a session for the page at a path; null without one. */
export async function consumeOneTimeAnswer(
  people: OperatorContext,
  { notice, secret }: Pick<CookieSession, 'notice' | 'secret'>,
  address: string,
): Promise<OneTimeAnswer | null> {
  if (notice === null) return null
  const answer = openAnswer(secret, notice)
  if (answer && answer.to !== address) return null
  const isTaken = await consumeNotice(people, secret, notice)
  return isTaken ? answer : null
}

/** Finds the stored answer of a person's former session; null without one. */
export async function findFormerAnswer(
  people: OperatorContext,
  secret: string,
  personId: string,
): Promise<OneTimeAnswer | null> {
  const notice = await findNotice(people, secret, personId)
  return notice && openAnswer(secret, notice)
}

/** Renders a notice. */
export const noticeContent = ({ lines, link, tone = 'plain' }: Notice): Content =>
  html`<div class="notice ${tone}" role="status">${lines.map((line, at) =>
    at === 0 ? html`<p>${line}</p>` : html`<p class="fine">${line}</p>`,
  )}${link && html`<p><a href="${link.href}">${link.text}</a></p>`}</div>`
