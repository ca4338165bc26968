import { type Content, type Html, html } from '../listeners/http/html.ts'
import { isRefused } from './fields.ts'
import { formFields, type Visit } from './screen.ts'

/** The form of an act. */
interface ActForm {
  /** The path that it is sent to. */
  readonly action: string
  /** The name of the act, which its button has. */
  readonly name: string
  readonly fields?: Content
  /** The effect of the act. */
  readonly hint?: Content
  readonly isDangerous?: boolean
  /** Whether it is shown open; by default after a refusal. */
  readonly isOpen?: boolean
}

/** Renders the form of an act, which opens in place. */
export function actForm(visit: Visit, { action, fields, hint, name, ...others }: ActForm): Html {
  const { isDangerous = false, isOpen = isRefused(visit, action) } = others
  return html`<details${isOpen && html` open`}>
    <summary>${name}</summary>
    <form method="post" action="${action}">
      ${formFields(visit)}
      ${fields}
      ${hint && html`<p class="hint">${hint}</p>`}
      <button${isDangerous && html` class="danger"`}>${name}</button>
    </form>
  </details>`
}
