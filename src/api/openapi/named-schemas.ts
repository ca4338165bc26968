import { stringify } from 'safe-stable-stringify'
import * as authorizations from '../../authorizing/authorization-schema.ts'
import * as simulator from '../routes/simulator.ts'
import * as cardData from '../schemas/card-data.ts'
import { EventSchema } from '../schemas/events.ts'
import * as requests from '../schemas/requests.ts'
import * as responses from '../schemas/responses.ts'
import * as webhooks from '../schemas/webhooks.ts'
import { publishedFormat } from './published-formats.ts'

/** Parameters are told one by one, and an answer without a body has no schema. */
const unnamed = /^(?:.*(?:Params|Query)|NoContent)$/

/** Where the schemas of bodies are exported from. */
const sources: Readonly<Record<string, unknown>> = {
  ...requests,
  ...responses,
  ...cardData,
  ...authorizations,
  ...simulator,
  ...webhooks,
  EventSchema,
}

/** The schemas of bodies by their names: `CreateCardSchema` is `CreateCard`. */
const bodySchemas = Object.entries(sources)
  .filter((entry): entry is [string, object] => entry[0].endsWith('Schema'))
  .map(([name, schema]) => [name.slice(0, -'Schema'.length), schema] as const)
  .filter(([name]) => !unnamed.test(name))
  .sort(([one], [other]) => (one < other ? -1 : 1))

/** What a schema is known by, wherever it was copied to. */
const identityOf = (schema: unknown): string => stringify(schema) ?? ''

const names = new Map(bodySchemas.map(([name, schema]) => [identityOf(schema), name]))

/** The named schemas, each referring to those within it. */
export const namedSchemas = (): Record<string, object> =>
  Object.fromEntries(bodySchemas.map(([name, schema]) => [name, membersReferring(schema)]))

/** A schema as the document tells it: by reference where it has a name. */
export function referring(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) return schema
  if (Array.isArray(schema)) return schema.map(referring)
  const name = names.get(identityOf(schema))
  return name === undefined ? membersReferring(schema) : { $ref: `#/components/schemas/${name}` }
}

const membersReferring = (schema: object): object =>
  withOneType(
    publishedFormat(
      Object.fromEntries(
        Object.entries(schema).map(([member, value]) => [member, referring(value)]),
      ),
    ),
  )

/**
 * Generators of code want one type. A body that may be left out is told by `required` of the request,
 * not by its schema; a list of words is text.
 */
const withOneType = (schema: Record<string, unknown>): object => {
  const { enum: words, type } = schema
  if (Array.isArray(words) && type === undefined) return { type: 'string', ...schema }
  if (!Array.isArray(type)) return schema
  const types = type.filter((each) => each !== 'null')
  return { ...schema, type: types.length === 1 ? types[0] : types }
}
