import { showLocalTimes } from './local-time.ts'

/** How often it looks when it is not said. */
const everySeconds = 5

/**
 * `<live-region id="…" every="5">`: takes its own content from the page that it is on, again and again, while somebody
 * looks. Whoever is reading or typing in it is not disturbed.
 */
export class LiveRegion extends HTMLElement {
  #timer = 0

  connectedCallback(): void {
    const everyMs = 1_000 * (Number(this.getAttribute('every')) || everySeconds)
    this.#timer = window.setInterval(() => this.#look(), everyMs)
  }

  disconnectedCallback(): void {
    window.clearInterval(this.#timer)
  }

  #look(): void {
    if (document.hidden || this.matches(':hover, :focus-within') || this.querySelector('[open]')) {
      return
    }
    // It parses a document by itself, which takes no markup out of a text.
    const request = new XMLHttpRequest()
    request.open('GET', location.href)
    request.responseType = 'document'
    request.onloadend = () => {
      const found = request.status === 200 && request.response?.getElementById(this.id)
      this.toggleAttribute('stale', !found)
      if (!found) return
      this.replaceChildren(...document.importNode(found, true).childNodes)
      showLocalTimes(this)
    }
    request.send()
  }
}
