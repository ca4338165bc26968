import { catchUp, follow, unfollow } from './live-page.ts'
import { showLocalTimes } from './local-time.ts'

/** The default interval. */
const everySeconds = 5

/** A pointer that has not moved for this time points at nothing. */
const restMs = 3_000

/**
 * `<live-region id="…" every="5">`: replaces its content with that of the page whenever it changes
 * and the page is visible. It does not disturb a person who types in it, opened a part of it, or
 * moves the pointer over it, unless `data-state` shows another state, in which the earlier actions
 * are impossible.
 */
export class LiveRegion extends HTMLElement {
  #shown: Document | null = null
  #isPointedAt = false
  #rest = 0

  /** The first wait, and the wait after a change. */
  get everyMs(): number {
    return 1_000 * (Number(this.getAttribute('every')) || everySeconds)
  }

  connectedCallback(): void {
    this.addEventListener('pointermove', this.#point)
    this.addEventListener('pointerleave', this.#leave)
    this.addEventListener('focusout', this.#catchUp)
    follow(this)
  }

  disconnectedCallback(): void {
    window.clearTimeout(this.#rest)
    unfollow(this)
  }

  readonly #catchUp = () => catchUp(this)

  readonly #point = () => {
    this.#isPointedAt = true
    window.clearTimeout(this.#rest)
    this.#rest = window.setTimeout(this.#leave, restMs)
  }

  readonly #leave = () => {
    window.clearTimeout(this.#rest)
    this.#isPointedAt = false
    catchUp(this)
  }

  /** Shows the same part of a later answer. */
  show(page: Document): void {
    if (this.#shown === page) return
    const found = page.getElementById(this.id)
    this.toggleAttribute('stale', !found)
    if (!found) return
    const isInUse =
      this.#isPointedAt || this.matches(':focus-within') || this.querySelector('[open]') !== null
    if (isInUse && found.dataset.state === this.dataset.state) return
    this.#shown = page
    if (found.dataset.state !== undefined) this.dataset.state = found.dataset.state
    this.replaceChildren(...document.importNode(found, true).childNodes)
    showLocalTimes(this)
  }
}
