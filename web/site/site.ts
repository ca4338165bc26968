import type { IncomingHttpHeaders } from 'node:http'

/** A request as a site sees it, whatever server took it. */
export interface SiteRequest {
  /** `HEAD` is asked as `GET`. */
  readonly method: string
  /** Without the query. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** As it came, in UTF-8. */
  readonly body: string
}

export interface SiteAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Something that answers under a path of its own. */
export interface Site {
  answer(request: SiteRequest): Promise<SiteAnswer>
}

export const jsonAnswer = (
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): SiteAnswer => ({
  status,
  headers: { ...headers, 'content-type': 'application/json; charset=utf-8' },
  body: JSON.stringify(body),
})

/** A refusal in the form that the service's own failures have (RFC 9457). */
export const refusal = (status: number, code: string, title: string): SiteAnswer => ({
  status,
  headers: { 'content-type': 'application/problem+json; charset=utf-8' },
  body: JSON.stringify({ title, status, code }),
})
