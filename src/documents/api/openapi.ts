import type { Schema } from './schema.ts'

/** An OpenAPI document, as far as pages show it. References stand as they are written. */
export interface ApiDocument {
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly servers: readonly { readonly url: string }[]
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: Components
}

interface Components {
  readonly schemas: Readonly<Record<string, Schema>>
  readonly responses: Readonly<Record<string, ApiResponse>>
  readonly headers: Readonly<Record<string, { readonly description: string }>>
  readonly parameters: Readonly<Record<string, Parameter>>
  readonly securitySchemes: {
    readonly oauth2: {
      readonly flows: {
        readonly clientCredentials: { readonly scopes: Readonly<Record<string, string>> }
      }
    }
  }
}

interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly tags: readonly string[]
  readonly security?: readonly { readonly oauth2?: readonly string[] }[]
  readonly parameters?: readonly (Parameter | Reference)[]
  readonly requestBody?: {
    readonly required: boolean
    readonly content: Readonly<Record<string, { readonly schema: Schema; example?: unknown }>>
  }
  readonly responses: Readonly<Record<string, ApiResponse | Reference>>
}

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required?: boolean
  readonly description?: string
  readonly schema: Schema
}

export interface ApiResponse {
  readonly description: string
  readonly headers?: Readonly<Record<string, unknown>>
  readonly content?: Readonly<
    Record<
      string,
      {
        readonly schema: Schema
        readonly example?: unknown
        readonly examples?: Readonly<Record<string, { readonly value: { readonly title: string } }>>
      }
    >
  >
}

interface Reference {
  readonly $ref: string
}

/** An operation with its place. */
export interface PlacedOperation extends Operation {
  readonly method: string
  readonly path: string
}

/** How this installation is reached. */
export interface Installation {
  readonly baseUrl: string
  readonly privateUrl: string
  /** The segment that stands for the processor in every path. */
  readonly processorPath: string
}

export const listOperations = ({ paths }: ApiDocument): readonly PlacedOperation[] =>
  Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({
      ...operation,
      path,
      method: method.toUpperCase(),
    })),
  )

/** Returns the target of a reference, or the object itself. */
export const resolveReference = <Thing extends object>(
  thing: Thing | Reference,
  named: Readonly<Record<string, Thing>>,
): Thing => {
  if (!('$ref' in thing)) return thing
  const found = named[String(thing.$ref).split('/').at(-1) ?? '']
  if (!found) throw new Error(`The document does not contain ${thing.$ref}.`)
  return found
}
