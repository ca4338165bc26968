import type { CardData } from '../../sdk/device/device.ts'
import { createField, make } from './field.ts'

/** What is on the card while it is masked. */
export interface MaskedCard {
  /** `400000******1234`, or nothing known. */
  readonly maskedPan: string
  readonly embossName: string
  readonly schemeName: string
}

/** What there is to see: no logic, no memory of what it shows but the text on the card. */
export interface CardView {
  readonly elements: readonly HTMLElement[]
  mask(card: MaskedCard): void
  show(card: CardData): void
  /** Between the question and its answer. */
  busy(): void
  countDown(secondsLeft: number, seconds: number): void
  say(text: string, isWrong?: boolean): void
  focusOnButton(): void
}

export interface CardActions {
  toggle(): void
  copy(): void
}

export function createView(actions: CardActions): CardView {
  const fields = createFields()
  const holder = make('span', { class: 'holder' })
  const scheme = make('span', { class: 'scheme' })
  const controls = createControls(actions)
  const face = createFace(fields, holder, scheme)
  return {
    elements: [face, controls.element],
    mask(card) {
      maskFields(fields, card.maskedPan)
      holder.textContent = card.embossName
      scheme.textContent = card.schemeName
      controls.setMasked()
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
    focusOnButton: controls.focus,
  }
}

const createFields = () => ({
  pan: createField('pan', 'Card number'),
  expiry: createField('expiry', 'Expires'),
  cvv: createField('cvv', 'CVV'),
  pin: createField('pin', 'PIN'),
})

function maskFields({ cvv, expiry, pan, pin }: ReturnType<typeof createFields>, maskedPan: string) {
  const lastFour = /^[0-9]*\*+([0-9]{4})$/.exec(maskedPan)?.[1]
  pan.mask(`•••• •••• •••• ${lastFour ?? '••••'}`, lastFour ? `ends in ${lastFour}` : 'hidden')
  expiry.mask('••/••', 'hidden')
  cvv.mask('•••', 'hidden')
  pin.mask('', '')
  pin.element.hidden = true
}

function createFace(
  { cvv, expiry, pan, pin }: ReturnType<typeof createFields>,
  holder: HTMLElement,
  scheme: HTMLElement,
): HTMLElement {
  return make(
    'div',
    { class: 'face' },
    make('div', { class: 'top' }, make('span', { class: 'issuer' }, 'Pinfold'), scheme),
    make('span', { class: 'chip', 'aria-hidden': 'true' }),
    pan.element,
    make('div', { class: 'bottom' }, holder, expiry.element, cvv.element, pin.element),
  )
}

function createControls(actions: CardActions) {
  const toggle = make('button', { type: 'button', class: 'main' }, 'Show details')
  const copy = make('button', { type: 'button' }, 'Copy number')
  const left = make('span', { class: 'left' })
  const share = make('span')
  const bar = make('span', { class: 'bar' }, share)
  const time = make('div', { class: 'time', 'aria-hidden': 'true' }, bar, left)
  const status = make('p', { class: 'status', role: 'status' })
  toggle.addEventListener('click', actions.toggle)
  copy.addEventListener('click', actions.copy)
  const set = (label: string, isShown: boolean, isBusy: boolean) => {
    toggle.textContent = label
    toggle.setAttribute('aria-disabled', String(isBusy))
    copy.hidden = !isShown
    time.hidden = !isShown
  }
  return {
    element: make(
      'div',
      { class: 'below' },
      make('div', { class: 'actions' }, toggle, copy),
      time,
      status,
    ),
    setMasked: () => set('Show details', false, false),
    setShown: () => set('Hide details', true, false),
    setBusy: () => set('One moment …', false, true),
    countDown(secondsLeft: number, seconds: number) {
      left.textContent = `hidden in ${secondsLeft} s`
      share.style.setProperty('--share', String((secondsLeft - 1) / seconds))
    },
    say(text: string, isWrong = false) {
      status.textContent = text
      status.classList.toggle('wrong', isWrong)
    },
    focus: () => toggle.focus(),
  }
}
