/** One request of the page, as it was given to the browser. */
export interface SentRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Records every request by `fetch`, before it is sent. The element has no other way out. */
export function startRecording(onRequest: (request: SentRequest) => void): void {
  const send = window.fetch.bind(window)
  window.fetch = async (input, init) => {
    const request = new Request(input, init)
    onRequest({
      method: request.method,
      url: request.url,
      headers: Object.fromEntries(request.headers),
      body: await request.clone().text(),
    })
    return send(input, init)
  }
}

/** Every request that the browser counted, of whatever kind but the page's own files. */
export const countSent = (): number =>
  performance
    .getEntriesByType('resource')
    .filter((entry) => !ownFiles.has((entry as PerformanceResourceTiming).initiatorType)).length

const ownFiles = new Set(['link', 'script', 'css', 'other', 'img'])

/**
 * Opens the shadow trees of elements that are made afterwards, so that this page can compare the
 * digits on the screen with what was sent. An application never does this.
 */
export function openShadowTrees(): void {
  const attach = Element.prototype.attachShadow
  Element.prototype.attachShadow = function attachOpen(options) {
    return attach.call(this, { ...options, mode: 'open' })
  }
}
