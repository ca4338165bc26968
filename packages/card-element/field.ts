/** A label with a value that can be shown. */
export interface Field {
  readonly element: HTMLElement
  /** @param dots the visible text. @param spoken the text for screen readers. */
  mask(dots: string, spoken: string): void
  /** Shows digits, in groups separated by spaces. */
  show(text: string): void
}

export function createField(name: string, label: string): Field {
  const value = make('span', { class: 'value' })
  const title = make('span', { class: 'label', id: name }, label)
  return {
    element: make('div', { class: `field ${name}` }, title, value),
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

/** Announces the result of copying. */
type Say = (text: string) => void

const keptSeconds = 30
let clearing: ReturnType<typeof setTimeout> | undefined

/**
 * Copies a card number and clears the clipboard after half a minute, if the browser permits it.
 * This also clears other text copied meanwhile, since a page cannot read the clipboard.
 */
export async function copyForAWhile(text: string, say: Say): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
  } catch {
    say('This browser does not let the page copy. Select the number instead.')
    return
  }
  say(`Copied. The clipboard is cleared in ${keptSeconds} seconds, if this page is open then.`)
  clearTimeout(clearing)
  clearing = setTimeout(() => clear(say), keptSeconds * 1_000)
}

async function clear(say: Say): Promise<void> {
  // Only the focused page may write, so the clipboard is cleared when the user returns.
  if (!document.hasFocus()) {
    window.addEventListener('focus', () => void clear(say), { once: true })
    return
  }
  try {
    await navigator.clipboard.writeText('')
    say('The clipboard was cleared.')
  } catch {
    say('This browser does not let the page clear the clipboard: copy something else.')
  }
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
