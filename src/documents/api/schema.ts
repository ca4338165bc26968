import { type Content, html } from '../../listeners/http/html.ts'
import { renderDescription } from '../markdown.ts'

/** A JSON Schema, as far as the documents of this project use it. */
export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly additionalProperties?: Schema | boolean
  readonly anyOf?: readonly Schema[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly examples?: readonly unknown[]
  readonly default?: unknown
  readonly format?: string
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
}

/** The schemas that references name. */
export type NamedSchemas = Readonly<Record<string, Schema>>

/** A value with its name, type, rules and members. */
export interface Member {
  readonly name: string
  readonly isRequired: boolean
  readonly description?: string
  readonly schema: Schema
}

function resolveSchema(schema: Schema, named: NamedSchemas): Schema {
  const name = schema.$ref?.split('/').at(-1)
  return name === undefined ? schema : (named[name] ?? {})
}

/** Renders the members of an object, or of each entry of a list. */
export function schemaContent(schema: Schema, named: NamedSchemas): Content {
  const resolved = resolveSchema(schema, named)
  const { additionalProperties: others, anyOf, description, items, required = [] } = resolved
  const { properties = typeof others === 'object' ? { '…': others } : undefined } = resolved
  if (anyOf) {
    const forms = anyOf.map(
      (each, index) => html`<p class="fine">Form ${index + 1}</p>${schemaContent(each, named)}`,
    )
    return html`${describe(description)}${forms}`
  }
  if (items) return html`${describe(description)}${schemaContent(items, named)}`
  if (!properties) return describe(description)
  const members = Object.entries(properties).map(([name, each]) => ({
    name,
    isRequired: required.includes(name),
    schema: each,
  }))
  return html`${describe(description)}${membersContent(members, named)}`
}

/** Renders values by name: members of an object, or parameters. */
export const membersContent = (members: readonly Member[], named: NamedSchemas): Content =>
  html`<dl class="members">${members.map((member) => memberContent(member, named))}</dl>`

function memberContent({ description, isRequired, name, schema }: Member, named: NamedSchemas) {
  const resolved = resolveSchema(schema, named)
  const said = description ?? resolved.description
  const inner =
    resolved.properties ?? resolved.items ?? resolved.anyOf ?? resolved.additionalProperties
  return html`<dt><code>${name}</code>${isRequired && html` <small>required</small>`}</dt>
    <dd><span class="fine">${typeContent(resolved, named)}</span> ${describe(said)}
      ${inner && schemaContent({ ...resolved, description: '' }, named)}</dd>`
}

const describe = (text: string | undefined): Content =>
  text !== undefined && text !== '' && renderDescription(text)

/** `text of 1 to 30 characters`, or the values that are allowed. */
function typeContent(schema: Schema, named: NamedSchemas): Content {
  const values = schema.const === undefined ? schema.enum : [schema.const]
  if (values) return listValues(values)
  const { default: byDefault, format, items, pattern, type } = schema
  const name = items ? html`list of ${typeContent(resolveSchema(items, named), named)}` : type
  return html`${name ?? (schema.anyOf ? 'one of several forms' : 'any value')}${
    format !== undefined && html` (${format})`
  }${boundsText(schema)}${pattern !== undefined && html`, <code>${pattern}</code>`}${
    byDefault !== undefined && html`, default <code>${String(byDefault)}</code>`
  }`
}

const listValues = (values: readonly unknown[]): Content =>
  values.map((value, index) => html`${index > 0 && ', '}<code>${JSON.stringify(value)}</code>`)

function boundsText(schema: Schema): string {
  const { maxItems, maxLength, maximum, minItems, minLength, minimum } = schema
  const length = rangeText(minLength, maxLength)
  const range = rangeText(minimum, maximum)
  const entries = rangeText(minItems, maxItems)
  return [length && `${length} characters`, range, entries && `${entries} entries`]
    .filter(Boolean)
    .map((text) => `, ${text}`)
    .join('')
}

function rangeText(least: number | undefined, most: number | undefined): string {
  if (least === undefined) return most === undefined ? '' : `at most ${most}`
  if (most === undefined) return `at least ${least}`
  return least === most ? `${least}` : `${least} to ${most}`
}

/** The names of all members, on every level. */
export function listMemberNames(schema: Schema, named: NamedSchemas): readonly string[] {
  const { anyOf = [], items, properties = {} } = resolveSchema(schema, named)
  const inner = [...anyOf, ...Object.values(properties), ...(items ? [items] : [])]
  return [...Object.keys(properties), ...inner.flatMap((each) => listMemberNames(each, named))]
}

/** A value that a schema allows: its first example where it has one. */
export function sampleValue(schema: Schema, named: NamedSchemas): unknown {
  const resolved = resolveSchema(schema, named)
  const { anyOf, examples, items, properties, type } = resolved
  if (resolved.const !== undefined) return resolved.const
  const [first] = examples ?? resolved.enum ?? []
  if (first !== undefined) return first
  if (anyOf?.[0]) return sampleValue(anyOf[0], named)
  if (items) return [sampleValue(items, named)]
  if (properties) {
    return Object.fromEntries(
      Object.entries(properties).map(([name, each]) => [name, sampleValue(each, named)]),
    )
  }
  return samples[String(resolved.format)] ?? samples[[type].flat()[0] ?? ''] ?? {}
}

const samples: Readonly<Record<string, unknown>> = {
  'date-time': '2026-11-20T08:00:00.000Z',
  date: '2026-11-20',
  uuid: '0b6f1f5e-3c0e-4a55-9d36-2f5f0a9c7d11',
  string: '…',
  integer: 1,
  number: 1,
  boolean: true,
}
