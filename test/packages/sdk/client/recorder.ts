/**
 * A network to put between a client and a service: it keeps what was sent, and can lose answers.
 */

type Sent = {
  method: string
  path: string
  headers: Headers
  body: string | undefined
}

/** What becomes of one request; nothing: it passes. */
export type Mishap = 'answer lost' | 'request lost' | Response

export type Recorder = {
  fetch: typeof globalThis.fetch
  sent: Sent[]
  /** What is to become of the next requests whose path ends so, one after another. */
  befall: (pathEnd: string, ...mishaps: Mishap[]) => void
}

export const createRecorder = (): Recorder => {
  const sent: Sent[] = []
  const awaited: { pathEnd: string; mishap: Mishap }[] = []
  return {
    sent,
    befall(pathEnd, ...mishaps) {
      awaited.push(...mishaps.map((mishap) => ({ pathEnd, mishap })))
    },
    async fetch(input, init) {
      const { pathname } = new URL(String(input))
      const headers = new Headers(init?.headers)
      const body = typeof init?.body === 'string' ? init.body : undefined
      sent.push({ method: init?.method ?? 'GET', path: pathname, headers, body })
      const at = awaited.findIndex(({ pathEnd }) => pathname.endsWith(pathEnd))
      const mishap = at < 0 ? undefined : awaited.splice(at, 1)[0]?.mishap
      if (mishap instanceof Response) return mishap
      if (mishap === 'request lost') throw new TypeError('fetch failed')
      const answer = await fetch(input, init)
      if (mishap !== 'answer lost') return answer
      await answer.arrayBuffer()
      throw new TypeError('terminated')
    },
  }
}

/** A refusal as the service words it. */
export const refusal = (status: number, code: string, retryAfterSeconds?: number): Response =>
  new Response(JSON.stringify({ type: `/problems/${code}`, title: 'No.', status, code }), {
    status,
    headers: {
      'content-type': 'application/problem+json',
      ...(retryAfterSeconds !== undefined && { 'retry-after': String(retryAfterSeconds) }),
    },
  })
