import { make } from './make.ts'

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
      value.replaceChildren(...text.split(' ').map(groupOf))
    },
  }
}

/** Each digit by itself, so that it is read as digits and not as thousands. */
const groupOf = (group: string): HTMLElement =>
  make('span', { class: 'group' }, ...[...group].map((digit) => make('span', {}, digit)))
