const header = (description: string, example: string) => ({
  description,
  schema: { type: 'string' },
  example,
})

/** Headers of answers, by name. */
export const namedHeaders = {
  'Api-Version': header('The version of this interface.', '2026-11-20'),
  'Audit-Entry': header(
    'The audit log entry of the disclosure: the `id` of its event. Its receipt is at ' +
      '`/receipts/{entry}`.',
    '01966c8e-9c3a-7b5f-8e21-4d0f6a7b8c9d',
  ),
  'Idempotency-Replayed': header(
    '`true` for the stored answer to the first request. Absent otherwise.',
    'true',
  ),
  Link: header(
    'The next page, if there is one (RFC 8288).',
    '</thr/processor/cards?cursor=WyIyMDI2Il0>; rel="next"',
  ),
  Location: header('The address of the new resource.', '/thr/processor/cards/4820117360'),
  RateLimit: header('The remaining calls.', '"calls";r=399;t=1'),
  'RateLimit-Policy': header('The allowed calls.', '"calls";q=400;w=2'),
  'Retry-After': header('Seconds to wait before a retry.', '1'),
  'WWW-Authenticate': header('The required kind of token (RFC 6750).', 'Bearer'),
  'X-Request-Id': header(
    'The id of this request: that of the caller, or a new one.',
    '3f0c1d52-8f0e-4d5a-9a53-0c6a1a3b7c11',
  ),
} as const

/** The headers of every answer. */
const always = ['X-Request-Id', 'Api-Version']

/** References to the headers of one answer. */
export const answerHeaders = (names: readonly string[]): Record<string, object> =>
  Object.fromEntries(
    [...new Set([...always, ...names])].map((name) => [
      name,
      { $ref: `#/components/headers/${name}` },
    ]),
  )
