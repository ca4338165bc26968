/**
 * Parses `Retry-After` (RFC 9110 section 10.2.3), a number of seconds or an HTTP date, into
 * seconds. A past date gives 0.
 * @returns null for any other text.
 */
export function parseRetryAfter(text: string | undefined, now: Date): number | null {
  if (text === undefined) return null
  if (/^[0-9]{1,9}$/.test(text)) return Number(text)
  // An HTTP date begins with the English name of the weekday and is in GMT, which one of its forms
  // does not state.
  const isDate = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text)
  const at = isDate ? Date.parse(text.endsWith('GMT') ? text : `${text} GMT`) : Number.NaN
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - now.getTime()) / 1_000))
}
