import type { IncomingHttpHeaders } from 'node:http'
import { Problem } from '../../domain/problem.ts'

/** The media type of a JSON body in UTF-8, with or without its charset. */
export const jsonInUtf8 = /^application\/json(?:\s*;\s*charset="?utf-8"?)?\s*$/i

const accepted =
  'Send JSON in UTF-8 with the Content-Type application/json or application/json; charset=utf-8.'

// No digits except those of known charsets: the header may contain a PAN or PIN.
const repeatableType = /^[a-z]{1,20}\/[a-z][a-z.+-]{0,60}(?: *; *charset="?([a-z0-9-]{1,20})"?)?$/i
const repeatableCharset = /^(?:utf-(?:8|16|32)(?:le|be)?|us-ascii|iso-8859-\d{1,2}|windows-125\d)$/i
const repeatableCoding = /^[a-z-]{1,20}$/i

/** Returns the failure for a body with an unsupported media type or content coding. */
export function unsupportedMediaType(headers: IncomingHttpHeaders): Problem {
  const { 'content-encoding': coding, 'content-type': type } = headers
  return new Problem('unsupported_media_type', { detail: `${describe(type, coding)} ${accepted}` })
}

function describe(type: string | undefined, coding: string | undefined): string {
  if (type === undefined) return 'The request has a body and no Content-Type.'
  if (!jsonInUtf8.test(type)) {
    const [whole, charset] = repeatableType.exec(type) ?? []
    return whole !== undefined && (charset === undefined || repeatableCharset.test(charset))
      ? `The Content-Type ${type} is not supported.`
      : 'The Content-Type of the request is not supported.'
  }
  return coding !== undefined && repeatableCoding.test(coding)
    ? `The Content-Encoding ${coding} is not supported: send the body without compression.`
    : 'The Content-Encoding of the request is not supported: send the body without compression.'
}
