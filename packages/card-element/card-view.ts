import type { CardData } from '../sdk/device/device.ts'
import { createField, make } from './field.ts'

/** The content of the masked card. */
interface MaskedCard {
  /** `400000******1234`, or empty if unknown. */
  readonly maskedPan: string
  readonly embossName: string
  readonly schemeName: string
}

/** The display: without logic, and without state except the text on the card. */
export interface CardView {
  readonly elements: readonly HTMLElement[]
  mask(card: MaskedCard): void
  show(card: CardData): void
  /** Between the request and its answer. */
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

/**
 * Returns the card's constructed style sheet, which works under a page policy without inline
 * styles.
 */
export function cardStyle(): CSSStyleSheet {
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(css)
  return sheet
}

const css = `
:host {
  --from: #16324f; --over: #1f5673; --to: #2a7f83;
  --ink: #1b2530; --quiet: #52606d; --line: #c6cfd8; --ground: #ffffff; --accent: #0b5f66;
  display: block; container-type: inline-size; color: var(--ink);
  font: 1rem/1.4 system-ui, sans-serif;
}
:host([hidden]) { display: none }
* { box-sizing: border-box }
.face {
  position: relative; overflow: hidden; aspect-ratio: 1.586; max-width: 27rem; margin: 0 auto;
  padding: 6cqi 6.5cqi; border-radius: 4.5cqi; color: #fff;
  display: grid; grid-template-rows: auto 1fr auto auto; gap: 3cqi;
  background: linear-gradient(130deg, var(--from), var(--over) 55%, var(--to));
  box-shadow: 0 1px 2px rgb(10 25 40 / .3), 0 12px 28px -10px rgb(10 25 40 / .45);
  font-size: clamp(.7rem, 3.6cqi, 1rem);
}
.face::before, .face::after {
  content: ''; position: absolute; border-radius: 50%; pointer-events: none;
  border: 1px solid rgb(255 255 255 / .13);
}
.face::before { width: 90%; aspect-ratio: 1; right: -42%; top: -62% }
.face::after { width: 62%; aspect-ratio: 1; right: -20%; top: -36% }
.top { display: flex; justify-content: space-between; align-items: baseline }
.issuer { font-weight: 650; font-size: 1.25em; letter-spacing: .01em }
.scheme { font-weight: 600; font-size: 1.1em; opacity: .95 }
.chip {
  align-self: center; width: 12.5%; aspect-ratio: 1.3; border-radius: 18%;
  background: linear-gradient(135deg, #f3dfa6, #c9a24d);
  box-shadow: inset 0 0 0 1px rgb(90 60 0 / .35);
}
.bottom { display: flex; gap: 6%; align-items: end }
.holder { flex: 1; min-width: 0; text-transform: uppercase; letter-spacing: .04em;
  overflow: hidden; white-space: nowrap; text-overflow: ellipsis }
.field { display: grid; gap: .1em }
.field[hidden] { display: none }
.label { font-size: .72em; opacity: .88; white-space: nowrap }
.value { font-variant-numeric: tabular-nums; font-size: 1.12em; white-space: nowrap;
  border-radius: .2em }
.pan .label { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%) }
.pan .value { font-size: clamp(1.05rem, 6.1cqi, 1.65rem); letter-spacing: .035em }
.group + .group { margin-inline-start: .5em }
.spoken, .status:empty { position: absolute; width: 1px; height: 1px; overflow: hidden;
  clip-path: inset(50%) }
.value:focus-visible { outline: 2px solid #fff; outline-offset: 3px }
.below { max-width: 27rem; margin: .9rem auto 0; display: grid; gap: .6rem }
.actions { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center }
button {
  font: inherit; font-weight: 600; min-height: 2.75rem; padding: .4rem .7rem; cursor: pointer;
  border-radius: .6rem; border: 1px solid var(--line); background: var(--ground); color: var(--ink);
}
.actions button { flex: 1 1 auto }
button.main { background: var(--accent); border-color: var(--accent); color: #fff }
button:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
button[aria-disabled=true] { opacity: .6; cursor: progress }
button[hidden], .time[hidden] { display: none }
.time { display: flex; gap: .8rem; align-items: center; min-height: 1.4em }
.left { color: var(--quiet); font-variant-numeric: tabular-nums; font-size: .92rem }
.bar { flex: 1; height: 4px; border-radius: 2px; background: var(--line); overflow: hidden }
.bar > span { display: block; height: 100%; background: var(--accent);
  transform-origin: left; transform: scaleX(var(--share, 1)) }
.status { margin: 0; color: var(--quiet); font-size: .92rem }
.status.wrong { color: #a5231b; font-weight: 600 }
@media (prefers-reduced-motion: no-preference) {
  .bar > span { transition: transform 1s linear }
  button { transition: background-color .15s, border-color .15s }
}
@media (prefers-color-scheme: dark) {
  :host { --ink: #e8edf2; --quiet: #a9b6c2; --line: #3c4a57; --ground: #1d2731; --accent: #6fd0cf }
  button.main { color: #06282b }
  .status.wrong { color: #ffaba2 }
}
@media (forced-colors: active) { .face { border: 1px solid; } .chip { border: 1px solid } }
@media print { .value { visibility: hidden } }
`
