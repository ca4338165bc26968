import { holdsPan, withoutUuids } from '../domain/pan.ts'
import { type Html, html } from '../listeners/http/html.ts'

/** The digits of a person's id are a hash, and may look like a card number by chance. */
const personId = /^person-[0-9a-f]{40}$/

/**
 * Thirteen digits or more, in groups, and nothing else: a card number with a wrong digit. A
 * retrieval reference number has twelve.
 */
const mistypedPan = /^[\s\p{Pd}.]*(?:\p{Nd}[\s\p{Pd}.]*){13,}$/u

function mayBePan(text: string): boolean {
  const withoutIds = personId.test(text) ? '' : withoutUuids(text)
  return mistypedPan.test(withoutIds) || holdsPan(withoutIds)
}

/**
 * Whether a segment of the path, or the name or the value of a parameter, may hold a card number,
 * or one with a wrong digit. Histories of browsers and logs of proxies keep addresses.
 */
export function addressHoldsPan(address: string): boolean {
  const { pathname, searchParams } = new URL(address, 'http://console.invalid')
  return (
    pathname.split('/').some((segment) => mayBePan(decode(segment))) ||
    [...searchParams].flat().some(mayBePan)
  )
}

/**
 * Whether a text has twelve digits or more, in any notation: it may be a card number, or one with a
 * wrong digit. No page shows such a text.
 */
export const hasDigitsOfPan = (text: string): boolean =>
  (text.normalize('NFKC').match(/\p{Nd}/gu) ?? []).length >= 12

/** A path that is not percent-encoded UTF-8 has no page, and is read as it is. */
function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

/**
 * Renders the attributes of a text field whose form becomes an address: the browser does not send a
 * text with as many digits as a card number, except the id of a person.
 */
export const addressFieldRule: Html = html`
  pattern="person-[0-9a-f]{40}|(?!(?:\\P{Nd}*\\p{Nd}){12}).*"
  title="A text with fewer than twelve digits: an address must not contain a card number."`
