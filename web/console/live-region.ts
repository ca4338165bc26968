import { catchUp, follow, unfollow } from './live-page.ts'
import { showLocalTimes } from './local-time.ts'

/** The default interval. */
const everySeconds = 5

/**
 * `<live-region id="…" every="5">`: replaces its content with that of the page whenever it changes
 * and the page is visible. It does not disturb a person who reads or types in it, unless
 * `data-state` shows another state, in which the earlier actions are impossible.
 */
export class LiveRegion extends HTMLElement {
  #shown: Document | null = null

  /** The first wait, and the wait after a change. */
  get everyMs(): number {
    return 1_000 * (Number(this.getAttribute('every')) || everySeconds)
  }

  connectedCallback(): void {
    this.addEventListener('pointerleave', this.#catchUp)
    this.addEventListener('focusout', this.#catchUp)
    follow(this)
  }

  disconnectedCallback(): void {
    unfollow(this)
  }

  readonly #catchUp = () => catchUp(this)

  /** Shows the same part of a later answer. */
  show(page: Document): void {
    if (this.#shown === page) return
    const found = page.getElementById(this.id)
    this.toggleAttribute('stale', !found)
    if (!found) return
    const isInUse = this.matches(':hover, :focus-within') || this.querySelector('[open]') !== null
    if (isInUse && found.dataset.state === this.dataset.state) return
    this.#shown = page
    if (found.dataset.state !== undefined) this.dataset.state = found.dataset.state
    this.replaceChildren(...document.importNode(found, true).childNodes)
    showLocalTimes(this)
  }
}
