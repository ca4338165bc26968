import type { CardData, ServiceKeys } from '../sdk/device/device.ts'
import type { CardState, PinfoldCardAttributes } from './attributes.ts'
import { revealCard, sendPin } from './call-relay.ts'
import { cardStyle } from './card-style.ts'
import { type CardView, createView } from './card-view.ts'
import { copyForAWhile } from './clipboard.ts'
import { type Countdown, startCountdown } from './field.ts'
import { countIn, findLanguage, type Language } from './languages.ts'
import { plainWords } from './plain-words.ts'

const style = cardStyle()
const defaultSeconds = 15
const mostSeconds = 60

/**
 * `<pinfold-card>`: a payment card that shows its number, expiry and CVV for a few seconds, and its
 * PIN if asked to. Its cardholder can choose a PIN, which is sealed before it is sent.
 *
 * The key is made here for each reveal, the relay sees ciphertext, and what was shown is taken away
 * when the time is up, the page is hidden, or the element is removed or given another card or other
 * keys. It asks only while it is in a page that is seen. Digits are in the closed shadow tree while
 * they are shown and nowhere else. The README of the package lists its attributes.
 *
 * It dispatches `pinfold-state` events with `detail.state`. Nothing of the card is in them.
 */
export class PinfoldCard extends HTMLElement {
  static readonly observedAttributes: readonly (keyof PinfoldCardAttributes)[] = [
    'public-token',
    'relay-url',
    'set-pin-url',
    'pin-length',
    'issuer',
    'issuer-name',
    'masked-pan',
    'emboss-name',
    'scheme-name',
    'include-pin',
    'lang',
  ]

  readonly #view: CardView
  readonly #root: ShadowRoot
  #service: ServiceKeys | null = null
  #language: Language = findLanguage('en')
  #asking: AbortController | null = null
  /** While a new PIN is on its way. */
  #setting: AbortController | null = null
  #countdown: Countdown | null = null
  /** While it is shown, for the copy button. */
  #pan: string | null = null
  #connection = new AbortController()
  readonly #internals: ElementInternals

  constructor() {
    super()
    this.#root = this.attachShadow({ mode: 'closed', delegatesFocus: true })
    this.#root.adoptedStyleSheets = [style]
    this.#view = createView({
      toggle: () => this.#toggle(),
      copy: () => this.#copy(),
      openPinForm: () => this.#openPinForm(),
      closePinForm: () => this.#closePinForm(),
      savePin: (pin) => void this.#savePin(pin),
    })
    this.#root.append(this.#view.element)
    this.#root.addEventListener('keydown', (event) => {
      if (event instanceof KeyboardEvent && event.key === 'Escape') this.#escape()
    })
    this.#internals = this.attachInternals()
    this.#internals.role = 'group'
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
    // The language may be that of an element around this one.
    this.#paintMasked()
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
    this.#forgetSetting()
    this.mask()
  }

  attributeChangedCallback(_: string, before: string | null, now: string | null): void {
    if (before === now) return
    this.#forgetSetting()
    this.mask()
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
    this.#view.pinForm.close()
    this.#paintMasked()
    if (isShown) {
      this.#view.say(this.#language.words.detailsHidden)
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
    this.#view.say(countIn(this.#language, this.#language.words.shownFor, seconds))
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
    this.#view.say(plainWords(error, this.#language), true)
    this.#announce('failed')
  }

  #openPinForm(): void {
    this.mask()
    this.#view.say('')
    this.#view.pinForm.open(this.#pinLength())
    this.#paintMasked()
  }

  #closePinForm(): void {
    this.#view.pinForm.close()
    this.#paintMasked()
    this.#view.say('')
    this.#view.focusOnSetPin()
  }

  async #savePin(pin: string): Promise<void> {
    const setting = new AbortController()
    this.#setting = setting
    this.#view.pinForm.setBusy(true)
    this.#view.say(this.#language.words.busy)
    this.#announce('setting-pin')
    try {
      const url = this.getAttribute('set-pin-url') ?? ''
      await sendPin(this.#composeRequest(), url, pin, setting.signal)
      // The element has another card by now, or is in no page.
      if (setting.signal.aborted) return
      this.#forgetSetting()
      // It was closed meanwhile: the focus is elsewhere then.
      if (this.#view.pinForm.isOpen()) this.#closePinForm()
      this.#view.say(this.#language.words.pinSet)
      this.#announce('pin-set')
    } catch (error) {
      if (setting.signal.aborted) return
      this.#forgetSetting()
      // Both fields are empty by now: another PIN is typed from the first one on.
      if (this.#root.activeElement && this.#view.pinForm.isOpen()) this.#view.pinForm.focus()
      this.#view.say(plainWords(error, this.#language), true)
      this.#announce('pin-failed')
    }
  }

  /** A PIN that was sent may arrive all the same: only its answer is ignored. */
  #forgetSetting(): void {
    if (!this.#setting) return
    this.#setting.abort()
    this.#setting = null
    this.#view.pinForm.setBusy(false)
    this.#view.say('')
  }

  #escape(): void {
    if (this.#view.pinForm.isOpen()) this.#closePinForm()
    else this.mask()
  }

  #toggle(): void {
    if (this.#asking) return
    if (this.#pan === null) void this.reveal()
    else this.mask()
  }

  #copy(): void {
    if (this.#pan !== null)
      void copyForAWhile(this.#pan, this.#language.words, (text) => this.#view.say(text))
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
    this.#language = findLanguage(this.closest('[lang]')?.getAttribute('lang') ?? 'en')
    this.#internals.ariaLabel = this.#language.words.card
    this.#view.speak(this.#language)
    this.#view.mask({
      maskedPan: this.getAttribute('masked-pan') ?? '',
      embossName: this.getAttribute('emboss-name') ?? '',
      schemeName: this.getAttribute('scheme-name') ?? '',
      issuerName: this.getAttribute('issuer-name') ?? '',
      canSetPin: this.hasAttribute('set-pin-url'),
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

  #pinLength(): number {
    const asked = Number(this.getAttribute('pin-length') ?? 4)
    return Number.isInteger(asked) && asked >= 4 && asked <= 12 ? asked : 4
  }

  #announce(state: CardState): void {
    this.dispatchEvent(new CustomEvent('pinfold-state', { detail: { state }, bubbles: true }))
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'pinfold-card': PinfoldCard
  }

  interface HTMLElementEventMap {
    'pinfold-state': CustomEvent<{ readonly state: CardState }>
  }
}

customElements.define('pinfold-card', PinfoldCard)
