/** A label with a value that can be shown. */
export interface Field {
  readonly element: HTMLElement
  setLabel(label: string): void
  /** @param dots the visible text. @param spoken the text for screen readers. */
  mask(dots: string, spoken: string): void
  /** Shows digits, in groups separated by spaces. */
  show(text: string): void
}

/** @param part the name by which a page can style it: `number`. */
export function createField(name: string, part: string): Field {
  // Digits are read from left to right in every language.
  const value = make('span', { class: 'value', part: 'value', dir: 'ltr' })
  const title = make('span', { class: 'label', part: 'label', id: name })
  return {
    element: make('div', { class: `field ${name}`, part }, title, value),
    setLabel(label) {
      title.textContent = label
    },
    mask(dots, spoken) {
      for (const attribute of ['role', 'tabindex', 'aria-readonly', 'aria-labelledby']) {
        value.removeAttribute(attribute)
      }
      value.replaceChildren(
        make('span', { 'aria-hidden': 'true' }, dots),
        make('span', { class: 'spoken' }, spoken),
      )
    },
    show(text) {
      // Not a live region: in company, a screen reader must not read it aloud unasked.
      value.setAttribute('role', 'textbox')
      value.setAttribute('aria-readonly', 'true')
      value.setAttribute('aria-labelledby', name)
      value.setAttribute('tabindex', '0')
      value.replaceChildren(...text.split(' ').map(createGroup))
    },
  }
}

/** Separates the digits, so that a screen reader does not read them as thousands. */
const createGroup = (group: string): HTMLElement =>
  make('span', { class: 'group' }, ...[...group].map((digit) => make('span', {}, digit)))

/** A running countdown. */
export interface Countdown {
  stop(): void
}

/**
 * Counts down whole seconds.
 * It uses a monotonic clock, so that it ends at once after a laptop was asleep past the end.
 */
export function startCountdown(
  seconds: number,
  onSecond: (secondsLeft: number) => void,
  onEnd: () => void,
): Countdown {
  const endMs = performance.now() + seconds * 1_000
  let timer: ReturnType<typeof setTimeout>
  const turn = () => {
    const leftMs = endMs - performance.now()
    if (leftMs <= 0) return onEnd()
    onSecond(Math.ceil(leftMs / 1_000))
    timer = setTimeout(turn, leftMs % 1_000 || 1_000)
  }
  turn()
  return { stop: () => clearTimeout(timer) }
}

/**
 * Creates an element with attributes and children. Children are text or elements and never parsed
 * as HTML. Never put card data into an attribute.
 */
export function make<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Readonly<Record<string, string>> = {},
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value)
  element.append(...children)
  return element
}
