import { make } from './field.ts'
import { countIn, type Language } from './languages.ts'

/** The form of a new PIN. What is typed leaves it once, by `save`, and is cleared. */
export interface PinForm {
  readonly element: HTMLElement
  /** @param digits how many digits the card's product asks for. */
  open(digits: number): void
  /** Clears what was typed and hides the form. */
  close(): void
  isOpen(): boolean
  focus(): void
  setBusy(isBusy: boolean): void
  speak(language: Language): void
}

interface PinFormActions {
  save(pin: string): void
  cancel(): void
  say(text: string, isWrong: boolean): void
}

export function createPinForm(actions: PinFormActions): PinForm {
  const first = createInput('new-pin')
  const second = createInput('repeat-pin')
  const rule = make('p', { class: 'rule', id: 'pin-rule' })
  const save = make('button', { type: 'submit', class: 'main', part: 'button primary-button' })
  const cancel = make('button', { type: 'button', part: 'button' })
  const buttons = make('div', { class: 'actions' }, save, cancel)
  const form = make('form', { part: 'pin-form', novalidate: '' })
  form.append(rule, first.label, second.label, buttons)
  form.hidden = true
  let digits = 4
  let language: Language
  const readPins = (): string | null => {
    const pin = first.take()
    const again = second.take()
    const { pinLength, pinsDiffer } = language.words
    const isRight = pin.length === digits && /^[0-9]+$/.test(pin)
    if (isRight && pin === again) return pin
    actions.say(isRight ? pinsDiffer : countIn(language, pinLength, digits), true)
    first.input.focus()
    return null
  }
  form.addEventListener('submit', (event) => {
    // The browser never sends the form itself.
    event.preventDefault()
    if (save.getAttribute('aria-disabled') === 'true') return
    const pin = readPins()
    if (pin !== null) actions.save(pin)
  })
  cancel.addEventListener('click', actions.cancel)
  const clear = () => {
    for (const { take } of [first, second]) take()
  }
  const describe = () => {
    rule.textContent = countIn(language, language.words.pinRule, digits)
  }
  return {
    element: form,
    open(asked) {
      digits = asked
      for (const { input } of [first, second]) input.maxLength = digits
      describe()
      form.hidden = false
      first.input.focus()
    },
    close() {
      clear()
      form.hidden = true
    },
    isOpen: () => !form.hidden,
    focus: () => first.input.focus(),
    setBusy: (isBusy) => save.setAttribute('aria-disabled', String(isBusy)),
    speak(spoken) {
      language = spoken
      first.text.textContent = spoken.words.newPin
      second.text.textContent = spoken.words.repeatPin
      save.textContent = spoken.words.savePin
      cancel.textContent = spoken.words.cancel
      describe()
    },
  }
}

function createInput(id: string) {
  const input = make('input', {
    id,
    type: 'password',
    inputmode: 'numeric',
    // A browser must not offer to store it as a password.
    autocomplete: 'off',
    'aria-describedby': 'pin-rule',
    dir: 'ltr',
    part: 'input',
  })
  const text = make('span', { part: 'label' })
  return {
    input,
    text,
    label: make('label', { for: id }, text, input),
    /** Returns what was typed, and clears it. */
    take(): string {
      const { value } = input
      input.value = ''
      return value
    },
  }
}
