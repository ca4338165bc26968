import type { CardData } from '../sdk/device/device.ts'
import { createField, make } from './field.ts'
import { findLanguage, type Language } from './languages.ts'
import { createPinForm, type PinForm } from './pin-form.ts'

/** The content of the masked card. */
interface MaskedCard {
  /** `400000******1234`, or empty if unknown. */
  readonly maskedPan: string
  readonly embossName: string
  readonly schemeName: string
  readonly issuerName: string
  /** Whether the cardholder can choose a PIN here. */
  readonly canSetPin: boolean
}

/** The display: without logic, and without state except the text on the card. */
export interface CardView {
  readonly element: HTMLElement
  /** Writes every label in a language. Call `mask` or `show` afterwards. */
  speak(language: Language): void
  mask(card: MaskedCard): void
  show(card: CardData): void
  /** Between the request and its answer. */
  busy(): void
  countDown(secondsLeft: number, seconds: number): void
  say(text: string, isWrong?: boolean): void
  focusOnButton(): void
  readonly pinForm: PinForm
  /** Moves the focus to the button that opens the form of the PIN. */
  focusOnSetPin(): void
}

export interface CardActions {
  toggle(): void
  copy(): void
  openPinForm(): void
  closePinForm(): void
  savePin(pin: string): void
}

export function createView(actions: CardActions): CardView {
  let language = findLanguage('en')
  const fields = createFields()
  const texts = createTexts()
  const controls = createControls(actions)
  const pinForm = createPinForm({
    save: actions.savePin,
    cancel: actions.closePinForm,
    say: controls.say,
  })
  const face = createFace(fields, texts)
  const below = make('div', { class: 'below' }, fields.pin.element, ...controls.elements)
  // The form stands between the buttons and the message about it.
  controls.status.before(pinForm.element)
  const element = make('div', { class: 'all' }, face, below)
  return {
    element,
    speak(spoken) {
      language = spoken
      element.lang = spoken.tag
      element.dir = spoken.words.direction
      labelFields(fields, spoken)
      controls.speak(spoken)
      pinForm.speak(spoken)
    },
    mask(card) {
      maskFields(fields, card.maskedPan, language)
      texts.holder.textContent = card.embossName
      texts.scheme.textContent = card.schemeName
      texts.issuer.textContent = card.issuerName
      controls.setMasked(card.canSetPin, pinForm.isOpen())
    },
    show(card) {
      fields.pan.show(card.pan.replaceAll(/(.{4})(?=.)/g, '$1 '))
      fields.expiry.show(`${card.expiryDate.slice(5)}/${card.expiryDate.slice(2, 4)}`)
      fields.cvv.show(card.cvv)
      fields.pin.element.hidden = card.pin === undefined
      if (card.pin !== undefined) fields.pin.show(card.pin)
      controls.setShown()
    },
    busy: controls.setBusy,
    countDown: controls.countDown,
    say: controls.say,
    focusOnButton: () => controls.toggle.focus(),
    pinForm,
    focusOnSetPin: () => controls.setPin.focus(),
  }
}

const createFields = () => ({
  pan: createField('pan', 'number'),
  expiry: createField('expiry', 'expiry'),
  cvv: createField('cvv', 'cvv'),
  pin: createField('pin', 'pin'),
})

type Fields = ReturnType<typeof createFields>

function labelFields({ cvv, expiry, pan, pin }: Fields, { words }: Language): void {
  pan.setLabel(words.number)
  expiry.setLabel(words.expires)
  cvv.setLabel(words.cvv)
  pin.setLabel(words.pin)
}

function maskFields(fields: Fields, maskedPan: string, { words }: Language): void {
  const { cvv, expiry, pan, pin } = fields
  const lastFour = /^[0-9]*\*+([0-9]{4})$/.exec(maskedPan)?.[1]
  const spoken = lastFour ? words.endsIn.replace('{digits}', lastFour) : words.hidden
  pan.mask(`•••• •••• •••• ${lastFour ?? '••••'}`, spoken)
  expiry.mask('••/••', words.hidden)
  cvv.mask('•••', words.hidden)
  pin.mask('', '')
  pin.element.hidden = true
}

/** The texts of the face that the page gives. A name may be written in another direction. */
const createTexts = () => ({
  issuer: make('bdi', { class: 'issuer', part: 'issuer' }),
  scheme: make('bdi', { class: 'scheme', part: 'scheme' }),
  holder: make('bdi', { class: 'holder', part: 'holder' }),
})

function createFace(
  { cvv, expiry, pan }: Fields,
  { holder, issuer, scheme }: ReturnType<typeof createTexts>,
): HTMLElement {
  const top = make(
    'div',
    { class: 'top' },
    make('slot', { name: 'issuer' }, issuer),
    make('slot', { name: 'scheme' }, scheme),
  )
  return make(
    'div',
    { class: 'face', part: 'face' },
    top,
    make('span', { class: 'chip', part: 'chip', 'aria-hidden': 'true' }),
    pan.element,
    make('div', { class: 'bottom' }, holder, expiry.element, cvv.element),
  )
}

function createControls(actions: CardActions) {
  let language = findLanguage('en')
  let canSetPin = false
  const toggle = make('button', { type: 'button', class: 'main', part: 'button primary-button' })
  const copy = make('button', { type: 'button', part: 'button' })
  const setPin = make('button', { type: 'button', part: 'button' })
  const left = make('span', { class: 'left' })
  const share = make('span')
  const bar = make('span', { class: 'bar', part: 'bar' }, share)
  const time = make('div', { class: 'time', part: 'time', 'aria-hidden': 'true' }, bar, left)
  const status = make('p', { class: 'status', part: 'status', role: 'status' })
  toggle.addEventListener('click', actions.toggle)
  copy.addEventListener('click', actions.copy)
  setPin.addEventListener('click', actions.openPinForm)
  const set = (label: string, isShown: boolean, isBusy: boolean) => {
    toggle.textContent = label
    toggle.setAttribute('aria-disabled', String(isBusy))
    copy.hidden = !isShown
    // One act at a time: while the number is shown, no PIN is typed.
    setPin.hidden = !canSetPin || isShown || isBusy
    time.hidden = !isShown
  }
  const more = make('slot', { name: 'actions' })
  return {
    elements: [make('div', { class: 'actions' }, toggle, copy, setPin, more), time, status],
    toggle,
    setPin,
    status,
    speak(spoken: Language) {
      language = spoken
      copy.textContent = spoken.words.copy
      setPin.textContent = spoken.words.setPin
    },
    setMasked(allowed: boolean, isFormOpen: boolean) {
      canSetPin = allowed && !isFormOpen
      set(language.words.show, false, false)
      // The form has the first button then.
      toggle.hidden = isFormOpen
    },
    setShown: () => set(language.words.hide, true, false),
    setBusy: () => set(language.words.busy, false, true),
    countDown(secondsLeft: number, seconds: number) {
      left.textContent = language.words.hiddenIn.replace('{count}', String(secondsLeft))
      share.style.setProperty('--share', String((secondsLeft - 1) / seconds))
    },
    say(text: string, isWrong = false) {
      status.textContent = text
      status.classList.toggle('wrong', isWrong)
    },
  }
}
