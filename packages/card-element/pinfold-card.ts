import type { CardData, ServiceKeys } from '../sdk/device/device.ts'
import { revealCard } from './call-relay.ts'
import { type CardView, cardStyle, createView } from './card-view.ts'
import { type Countdown, copyForAWhile, startCountdown } from './field.ts'
import { plainWords } from './plain-words.ts'

const style = cardStyle()
const defaultSeconds = 15
const mostSeconds = 60

/**
 * `<pinfold-card>`: a payment card that shows its number, expiry and CVV for a few seconds, and its
 * PIN if asked to.
 *
 * The key is made here for each reveal, the relay sees ciphertext, and what was shown is taken away
 * when the time is up, the page is hidden, or the element is removed or given another card or other
 * keys. It asks only while it is in a page that is seen. Digits are in the closed shadow tree while
 * they are shown and nowhere else.
 *
 * | attribute | what it is |
 * |---|---|
 * | `public-token` | the card |
 * | `relay-url` | where the client system takes the request body and answers as the service does |
 * | `issuer` | base URL of the service, whose keys are fetched there, unless `service` is set |
 * | `masked-pan`, `emboss-name`, `scheme-name` | what is on the card while it is masked |
 * | `include-pin` | whether the PIN is asked for, too |
 * | `reveal-seconds` | how long, 1 to 60; 15 unless given |
 *
 * It dispatches `pinfold-state` events: `asking`, `shown`, `masked`, `failed`. Nothing of the card
 * is in them.
 */
export class PinfoldCard extends HTMLElement {
  static readonly observedAttributes = [
    'public-token',
    'relay-url',
    'issuer',
    'masked-pan',
    'emboss-name',
    'scheme-name',
    'include-pin',
  ]

  readonly #view: CardView
  readonly #root: ShadowRoot
  #service: ServiceKeys | null = null
  #asking: AbortController | null = null
  #countdown: Countdown | null = null
  /** While it is shown, for the copy button. */
  #pan: string | null = null
  #connection = new AbortController()

  constructor() {
    super()
    this.#root = this.attachShadow({ mode: 'closed', delegatesFocus: true })
    this.#root.adoptedStyleSheets = [style]
    this.#view = createView({ toggle: () => this.#toggle(), copy: () => this.#copy() })
    this.#root.append(...this.#view.elements)
    this.#root.addEventListener('keydown', (event) => {
      if (event instanceof KeyboardEvent && event.key === 'Escape') this.mask()
    })
    const internals = this.attachInternals()
    internals.role = 'group'
    internals.ariaLabel = 'Payment card'
    this.#paintMasked()
  }

  /** The keys in the application's build. A real application sets them: see the documentation. */
  set service(keys: ServiceKeys | null) {
    if (keys === this.#service) return
    this.#service = keys
    // The shown data was verified with the previous keys.
    this.mask()
  }

  get service(): ServiceKeys | null {
    return this.#service
  }

  connectedCallback(): void {
    this.#takeEarlyService()
    this.#connection = new AbortController()
    const { signal } = this.#connection
    document.addEventListener('visibilitychange', () => this.#maskIfHidden(), { signal })
    // A page may be cached for the way back, or frozen: card data must not be on it.
    for (const name of ['pagehide', 'freeze']) {
      window.addEventListener(name, () => this.mask(), { signal, capture: true })
    }
  }

  disconnectedCallback(): void {
    this.#connection.abort()
    this.mask()
  }

  attributeChangedCallback(_: string, before: string | null, now: string | null): void {
    if (before === now) return
    if (this.#pan !== null || this.#asking) this.mask()
    else this.#paintMasked()
  }

  /**
   * Requests the card and shows it. Previously shown data is masked first. An element outside a
   * page, or in a hidden page, sends no request.
   */
  async reveal(): Promise<void> {
    this.mask()
    if (!this.#isSeen()) return
    const asking = new AbortController()
    this.#asking = asking
    this.#view.busy()
    this.#announce('asking')
    try {
      const card = await revealCard(this.#composeRequest(), asking.signal)
      // It was masked meanwhile, so the answer is discarded.
      if (asking.signal.aborted) return
      if (this.#isSeen()) this.#show(card)
      else this.mask()
    } catch (error) {
      if (asking.signal.aborted) return
      this.#fail(error)
    }
  }

  /** Removes shown data and aborts a running request. */
  mask(): void {
    const isShown = this.#pan !== null
    const isAsking = this.#asking !== null
    const hadFocus = this.#root.activeElement !== null
    this.#asking?.abort()
    this.#asking = null
    this.#countdown?.stop()
    this.#countdown = null
    this.#pan = null
    this.#paintMasked()
    if (isShown) {
      this.#view.say('Details hidden.')
      // The focused field or button was removed.
      if (hadFocus && this.isConnected) this.#view.focusOnButton()
    }
    if (isShown || isAsking) this.#announce('masked')
  }

  #show(card: CardData): void {
    this.#asking = null
    const seconds = this.#seconds()
    this.#pan = card.pan
    this.#view.show(card)
    this.#view.say(`Details are shown for ${seconds === 1 ? 'a second' : `${seconds} seconds`}.`)
    this.#countdown = startCountdown(
      seconds,
      (secondsLeft) => this.#view.countDown(secondsLeft, seconds),
      () => this.mask(),
    )
    this.#announce('shown')
  }

  #fail(error: unknown): void {
    this.#asking = null
    this.#paintMasked()
    this.#view.say(plainWords(error), true)
    this.#announce('failed')
  }

  #toggle(): void {
    if (this.#asking) return
    if (this.#pan === null) void this.reveal()
    else this.mask()
  }

  #copy(): void {
    if (this.#pan !== null) void copyForAWhile(this.#pan, (text) => this.#view.say(text))
  }

  #isSeen(): boolean {
    return this.isConnected && document.visibilityState === 'visible'
  }

  #maskIfHidden(): void {
    if (!this.#isSeen()) this.mask()
  }

  /** Keys that were set before the element was defined hide the setter and would be ignored. */
  #takeEarlyService(): void {
    if (!Object.hasOwn(this, 'service')) return
    const { service } = this
    Reflect.deleteProperty(this, 'service')
    this.service = service
  }

  #paintMasked(): void {
    this.#view.mask({
      maskedPan: this.getAttribute('masked-pan') ?? '',
      embossName: this.getAttribute('emboss-name') ?? '',
      schemeName: this.getAttribute('scheme-name') ?? '',
    })
  }

  #composeRequest() {
    return {
      service: this.#service,
      issuer: this.getAttribute('issuer') ?? '',
      publicToken: this.getAttribute('public-token') ?? '',
      relayUrl: this.getAttribute('relay-url') ?? '',
      includePin: this.hasAttribute('include-pin'),
    }
  }

  #seconds(): number {
    const asked = Number(this.getAttribute('reveal-seconds') ?? defaultSeconds)
    return Number.isInteger(asked) && asked >= 1 && asked <= mostSeconds ? asked : defaultSeconds
  }

  #announce(state: 'asking' | 'shown' | 'masked' | 'failed'): void {
    this.dispatchEvent(new CustomEvent('pinfold-state', { detail: { state }, bubbles: true }))
  }
}

customElements.define('pinfold-card', PinfoldCard)
