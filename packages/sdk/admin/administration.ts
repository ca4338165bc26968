import { type PinfoldOptions, parseSettings, secureUrl } from '../client/options.ts'
import type { Answer } from '../client/transport/attempt.ts'
import { type ChangeOptions, keyed, type Listing, listing } from '../client/transport/calls.ts'
import {
  parseContent,
  parseList,
  parseNextQuery,
  type QueryValues,
} from '../client/transport/content.ts'
import { type Call, createTransport, path, type Transport } from '../client/transport/transport.ts'
import type { operations } from './generated/openapi.ts'
import { operationTable } from './generated/operations.ts'

/** The addresses of the two listeners, and the caller: a client with a scope such as `admin`. */
export interface AdministrationOptions extends PinfoldOptions {
  /** The private listener. Tokens come from the public one, the `baseUrl`. */
  readonly privateUrl: string
}

type OperationId = keyof typeof operationTable

/** The member of a type under a name; an empty object where it has nothing there. */
type Member<Value, Name extends string> =
  Value extends Readonly<Record<Name, infer Found extends object>> ? Found : unknown

type PathParameters<Id extends OperationId> = {
  readonly [Name in keyof Member<operations[Id]['parameters'], 'path'>]: string | number
}

type Query<Id extends OperationId> = NonNullable<operations[Id]['parameters']['query']>

type RequestBody<Id extends OperationId> =
  NonNullable<operations[Id]['requestBody']> extends {
    readonly content: { readonly 'application/json': infer Json }
  }
    ? Json
    : never

/** The parameters of the path by their names, the query, and the body. */
export type OperationInput<Id extends OperationId> = PathParameters<Id> &
  ([Query<Id>] extends [never] ? unknown : { readonly query?: Query<Id> }) &
  ([RequestBody<Id>] extends [never]
    ? unknown
    : undefined extends operations[Id]['requestBody']
      ? { readonly body?: RequestBody<Id> }
      : { readonly body: RequestBody<Id> })

type Success<Id extends OperationId> =
  operations[Id]['responses'][keyof operations[Id]['responses'] & (200 | 201 | 202 | 204)]

type Content<Response> = Response extends { readonly content: infer Media extends object }
  ? Media[keyof Media]
  : undefined

/**
 * The answer of an operation. A 202 answers with the approval that it waits for, or with work that
 * goes on.
 */
export type OperationResult<Id extends OperationId> = Content<Success<Id>>

type Entry<List> = List extends readonly (infer Each)[] ? Each : never

type Outcome<Id extends OperationId> = (typeof operationTable)[Id]['calls'] extends 'pages'
  ? Listing<Entry<OperationResult<Id>>>
  : Promise<OperationResult<Id>>

type Operation<Id extends OperationId> =
  Partial<OperationInput<Id>> extends OperationInput<Id>
    ? (input?: OperationInput<Id>, options?: ChangeOptions) => Outcome<Id>
    : (input: OperationInput<Id>, options?: ChangeOptions) => Outcome<Id>

/** A method for each operation of the private listener. It shows no secret when it is printed. */
export type Administration = { readonly [Id in OperationId]: Operation<Id> }

/**
 * Makes a client of the private listener. A token is fetched with the first call, and renewed.
 * @throws CallFailed `invalid_argument`, `insecure_service`.
 */
export function createAdministration(options: AdministrationOptions): Administration {
  const settings = parseSettings(options)
  const privateUrl = secureUrl(options.privateUrl, 'privateUrl', settings.allowHttp)
  const transport = createTransport({ ...settings, base: privateUrl.replace(/\/+$/, '') })
  const methods = Object.entries(operationTable).map(([id, entry]) => [
    id,
    createOperation(transport, entry),
  ])
  return Object.fromEntries(methods) as Administration
}

/** How an operation is called. */
interface TableEntry {
  readonly method: Call['method']
  /** With the names of its parameters in braces: `/links/{linkName}`. */
  readonly path: string
  /**
   * `pages`: a list. `keyed`: a change whose idempotency key makes a repeat harmless. `reads`: a
   * repeat is harmless anyway. `once`: a repeat would be a second act.
   */
  readonly calls: 'pages' | 'keyed' | 'reads' | 'once'
}

interface Input {
  readonly query?: QueryValues
  readonly body?: unknown
  readonly [parameter: string]: unknown
}

const createOperation =
  (transport: Transport, { calls, method, path: template }: TableEntry) =>
  ({ body, query, ...parameters }: Input = {}, options: ChangeOptions = {}) => {
    const { idempotencyKey: _, ...others } = options
    const request = { method, path: fillPath(template, parameters), body }
    if (calls === 'pages') {
      const readPage = async (rest: QueryValues) => {
        const answer = await transport.send({
          ...others,
          ...request,
          query: rest,
          isRepeatable: true,
        })
        return { items: parseList<readonly unknown[]>(answer), next: parseNextQuery(answer) }
      }
      return listing(readPage, query ?? {})
    }
    const repeating =
      calls === 'keyed' ? keyed(options) : { ...others, isRepeatable: calls === 'reads' }
    return transport.send({ ...repeating, ...request, query }).then(parseAnswer)
  }

/** The path with its parameters filled in: whatever one holds, it stays one segment. */
function fillPath(template: string, parameters: Readonly<Record<string, unknown>>): Call['path'] {
  const parts = template.split(/\{(\w+)\}/)
  const texts = parts.filter((_, at) => at % 2 === 0)
  const values = parts
    .filter((_, at) => at % 2 === 1)
    .map((name) => {
      const value = parameters[name]
      return typeof value === 'number' ? String(value) : (value as string)
    })
  return path(Object.assign(texts, { raw: texts }), ...values)
}

/** The JSON of an answer, its text where it has another type, or nothing. */
function parseAnswer(answer: Answer): unknown {
  if (answer.text === '') return undefined
  const isJson = /[/+]json(?:;|$)/.test(answer.headers.get('content-type') ?? '')
  return isJson ? parseContent(answer) : answer.text
}
