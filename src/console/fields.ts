import type { ProblemError } from '../domain/problem.ts'
import { type Content, type Html, html } from '../listeners/http/html.ts'
import { capitalize } from './desk-parts.ts'
import type { Form, RefusedForm, Visit } from './screen.ts'

/** Whether a form of this page was refused, so that it is shown open. */
export const isRefused = ({ refused }: Pick<Visit, 'refused'>, action: string): boolean =>
  refused?.action === action

/** Returns what was typed into a form that was refused, or that waits for a fresh sign-in. */
export const readKept = (
  { kept, refused }: Pick<Visit, 'kept' | 'refused'>,
  action: string,
  name: string,
): string | undefined => (refused === null || refused.action === action ? kept[name] : undefined)

interface Field {
  readonly name: string
  readonly label: Content
  readonly type?: 'text' | 'datetime-local' | 'number' | 'search'
  readonly isRequired?: boolean
  readonly maxLength?: number
  readonly hint?: Content
  /** The value before anything is typed. */
  readonly value?: string | number
  /** The member of the request that the field becomes; its name unless given. */
  readonly member?: string
}

/**
 * Renders a field of a form. After a refusal it shows what was typed, and its fault below.
 * @param action the path that the form is sent to
 */
export function field(
  visit: Pick<Visit, 'kept' | 'refused'>,
  action: string,
  { hint, isRequired = true, label, maxLength, member, name, type = 'text', value }: Field,
): Html {
  const id = composeFieldId(action, name)
  const faults = listFaults(visit, action, member ?? name)
  const described = [hint && `${id}-hint`, faults.length > 0 && `${id}-fault`].filter(Boolean)
  return html`<label for="${id}">${label}</label>
    <input id="${id}" name="${name}" type="${type}" autocomplete="off"
      value="${readKept(visit, action, name) ?? value}"
      ${isRequired && html`required`}
      ${maxLength && html`maxlength="${maxLength}"`}
      ${faults.length > 0 && html`aria-invalid="true"`}
      ${described.length > 0 && html`aria-describedby="${described.join(' ')}"`}>
    ${faults.length > 0 && html`<p class="fault" id="${id}-fault">${faults.join(' ')}</p>`}
    ${hint && html`<p class="hint" id="${id}-hint">${hint}</p>`}`
}

/**
 * Renders a text area whose items become a list. After a refusal each fault names its item.
 * @param items parses what was typed into the list of the request
 */
export function itemsField(
  visit: Pick<Visit, 'kept' | 'refused'>,
  action: string,
  {
    items,
    label,
    name,
  }: Pick<Field, 'label' | 'name'> & { items(text: string): readonly string[] },
): Html {
  const id = composeFieldId(action, name)
  const typed = readKept(visit, action, name) ?? ''
  const list = items(typed)
  const faults = listErrors(visit, action, name).map(({ detail, pointer = '' }) => {
    const item = list[Number(pointer.split('/')[2] ?? Number.NaN)]
    return `${item === undefined ? 'The list' : `“${item}”`} ${detail}.`
  })
  return html`<label for="${id}">${label}</label>
    <textarea id="${id}" name="${name}" rows="8" required spellcheck="false"
      ${faults.length > 0 && html`aria-invalid="true" aria-describedby="${id}-fault"`}
      >${typed}</textarea>
    ${faults.length > 0 && html`<p class="fault" id="${id}-fault">${faults.join(' ')}</p>`}`
}

/** Renders an option of a list, which is selected if it is the chosen one. */
export const option = (value: string, words: string, chosen: string | undefined): Html =>
  html`<option value="${value}"${value === chosen && html` selected`}>${words}</option>`

/**
 * Returns the instant in a field of the type `datetime-local`: it has no zone, and no seconds if
 * they are 0.
 */
export const toInstant = (typed: string): string => `${typed.padEnd(19, ':00')}Z`

/** Renders the reason that an act is recorded with. */
export const reasonField = (
  visit: Pick<Visit, 'kept' | 'refused'>,
  action: string,
  {
    label = 'Reason',
    maxLength = 200,
  }: { readonly label?: string; readonly maxLength?: number } = {},
): Html => field(visit, action, { name: 'reason', label, maxLength })

/** Renders the optional reason of an act that another person may have to approve. */
export const optionalReasonField = (visit: Pick<Visit, 'kept' | 'refused'>, action: string): Html =>
  field(visit, action, {
    name: 'reason',
    label: 'Reason',
    isRequired: false,
    maxLength: 200,
    hint: 'Optional. An approver reads it, and the audit log keeps it.',
  })

/** Returns the reason of a form as a member of its request; none if the field is empty. */
export const readReason = ({ reason = '' }: Form): { readonly reason?: string } =>
  reason === '' ? {} : { reason }

const composeFieldId = (action: string, name: string): string =>
  `${action.replace('/console/', '').replaceAll(/[^A-Za-z0-9-]/g, '-')}-${name}`

const listErrors = (
  { refused }: Pick<Visit, 'refused'>,
  action: string,
  member: string,
): readonly ProblemError[] =>
  refused?.action === action
    ? (refused.problem.errors ?? []).filter(({ pointer }) =>
        `${pointer}/`.startsWith(`/${member}/`),
      )
    : []

const listFaults = (
  visit: Pick<Visit, 'refused'>,
  action: string,
  member: string,
): readonly string[] =>
  listErrors(visit, action, member).map(({ detail }) => `${capitalize(detail)}.`)

/** Renders the refusal of a form above its page. Each fault leads to its field. */
export const refusalSummary = ({ action, problem }: RefusedForm): Html => {
  const { detail, errors = [], title } = problem
  return html`<div class="notice bad" role="alert">
    <p><b>${title}</b> No change was made.</p>
    ${detail && html`<p>${detail}</p>`}
    ${
      errors.length > 0 &&
      html`<ul>${errors.map(({ detail: text, parameter, pointer }) => {
        const member = parameter ?? pointer?.slice(1) ?? ''
        // An item of a list has no field of its own.
        const id = composeFieldId(action, member.replace(/\/\d+(\/.*)?$/, ''))
        return html`<li><a href="#${id}">${member}</a> ${text}</li>`
      })}</ul>`
    }
  </div>`
}
