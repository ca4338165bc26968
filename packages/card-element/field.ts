/** A label and a value that is shown for a while. */
export interface Field {
  readonly element: HTMLElement
  /** @param dots what eyes see. @param spoken what a screen reader says instead. */
  mask(dots: string, spoken: string): void
  /** Shows digits, in groups that blanks part. */
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
      // Nothing is read aloud by itself, in company: a screen reader reads it where its user goes.
      value.setAttribute('role', 'textbox')
      value.setAttribute('aria-readonly', 'true')
      value.setAttribute('aria-labelledby', name)
      value.setAttribute('tabindex', '0')
      value.replaceChildren(...text.split(' ').map(createGroup))
    },
  }
}

/** Each digit by itself, so that it is read as digits and not as thousands. */
const createGroup = (group: string): HTMLElement =>
  make('span', { class: 'group' }, ...[...group].map((digit) => make('span', {}, digit)))

/** A countdown that runs. */
export interface Countdown {
  stop(): void
}

/**
 * Counts whole seconds down to zero.
 *
 * It uses a monotonic clock: after a laptop has slept past the end, the countdown ends at once.
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

/** Says how it went with the clipboard. */
type Say = (text: string) => void

const keptSeconds = 30
let clearing: ReturnType<typeof setTimeout> | undefined

/**
 * Copies a card number, and empties the clipboard after half a minute, where the browser lets it.
 * What was copied elsewhere meanwhile is overwritten, too: a page may not look whether it was.
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
  // Only the page in front may write: whoever went elsewhere to paste finds it cleared on return.
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
 * An element with attributes and children. Text is only ever text: nothing here is parsed as HTML.
 * Never put card data into an attribute.
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
