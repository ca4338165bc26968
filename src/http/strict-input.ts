import type { FastifyInstance, FastifyRequest, FastifySchema } from 'fastify'
import { textFault } from '../domain/free-text.ts'
import { Problem, type ProblemError, validationFailed } from '../errors.ts'
import { memberPointer } from './validation-errors.ts'

const nothing = { type: 'object', properties: {}, additionalProperties: false } as const
// Null stands for a body that was not sent.
const noBody = { ...nothing, type: ['object', 'null'] } as const

/**
 * What a route does not name is refused, not ignored: where its schema names no query it takes none, and
 * where it names no body only an empty one. A route without a schema of its answer speaks in the terms
 * of another standard (the token endpoint, the pages of the reference), and reads for itself.
 */
export function refuseUnnamed(app: FastifyInstance): void {
  // Of a DELETE as of a GET no body is read: it has no meaning there (RFC 9110 section 9.3.5).
  app.addHttpMethod('DELETE', bodyless)
  app.addHook('onRoute', (route) => {
    const { method, schema } = route
    if (!isOurs(route)) return
    const takesBody = [method].flat().some((each) => /^(?:POST|PUT|PATCH)$/.test(each))
    route.schema = {
      querystring: nothing,
      ...(takesBody && { body: noBody }),
      ...schema,
    }
  })
  app.addHook('preParsing', async ({ routeOptions, url }) => {
    if (isOurs(routeOptions)) refuseMalformedQuery(url)
  })
  app.addHook('preHandler', async (request) => {
    if (isOurs(request.routeOptions)) refuseUnprintable(request)
  })
}

const isOurs = ({ schema }: { schema?: FastifySchema | undefined }): boolean =>
  schema?.response !== undefined

// The types of the framework do not know that a method that is there can be changed.
const bodyless = { hasBody: false, overrideExisting: true }

/** Text that is no percent-encoded UTF-8 would be taken as it stands, and mean another thing. */
function refuseMalformedQuery(url: string): void {
  try {
    decodeURIComponent(url.slice(url.indexOf('?') + 1))
  } catch {
    throw new Problem('malformed_request', { detail: 'The query is not percent-encoded UTF-8.' })
  }
}

/**
 * Refuses control characters and unpaired surrogates in every text of a request, also where no schema
 * says so: the database cannot keep some of them, and no reader sees them.
 */
function refuseUnprintable(request: FastifyRequest): void {
  // Where faults are attached the handler refuses them all, these too.
  if (request.validationError) return
  const { ciphertexts = [] } = request.routeOptions.config
  const members = Object.entries(Object(request.body))
  const body = Object.fromEntries(members.filter(([name]) => !ciphertexts.includes(name)))
  const faults = [...textFaults(request.query, ''), ...textFaults(body, '')]
  if (faults.length > 0) throw validationFailed(...faults)
}

const detail = 'must have no control characters and no unpaired surrogates'

function textFaults(value: unknown, pointer: string): ProblemError[] {
  if (typeof value === 'string') return textFault(value) === null ? [] : [{ pointer, detail }]
  if (typeof value !== 'object' || value === null) return []
  if (Array.isArray(value)) {
    return value.flatMap((member, index) => textFaults(member, `${pointer}/${index}`))
  }
  return Object.entries(value).flatMap(([name, member]) => [
    ...(textFault(name) === null ? [] : [{ pointer, detail }]),
    ...textFaults(member, memberPointer(pointer, name)),
  ])
}
