import type { SwaggerTransform } from '@fastify/swagger'
import type { RouteOptions } from 'fastify'
import type { ProblemCode } from '../../errors.ts'

/** What follows from a route's configuration, on its way through the generator. */
export interface RouteNotes {
  readonly problemCodes: readonly ProblemCode[]
  readonly isRepeatable: boolean
  readonly isBodyRequired: boolean
}

/** The member of an operation that holds its {@link RouteNotes} until the document is finished. */
export const notesMember = 'x-route-notes'

/** Adds to a route's description what follows from its configuration. */
export const describeRoute: SwaggerTransform = ({ route, schema, url }) => {
  const { access } = route.config ?? {}
  if (access === undefined || access === 'open') return { schema, url }
  const notes = { ...schema, security: [{ oauth2: [access] }], [notesMember]: notesOf(route) }
  return { url, schema: notes }
}

const notesOf = (route: RouteOptions): RouteNotes => ({
  problemCodes: problemCodesOf(route),
  isRepeatable: route.config?.repeatable === true,
  isBodyRequired: route.config?.bodyRequired === true,
})

/** What a route refuses, in the order in which a call is refused (contract, section 3). */
export function problemCodesOf({
  config,
  schema,
  url,
}: Pick<RouteOptions, 'config' | 'schema' | 'url'>): ProblemCode[] {
  const takesBody = schema?.body !== undefined
  const codes: readonly (readonly [boolean, readonly ProblemCode[]])[] = [
    [true, ['misdirected_request']],
    [config?.access !== 'open', ['unauthenticated', 'insufficient_scope', 'rate_limited']],
    [takesBody, ['unsupported_media_type', 'body_too_large']],
    [true, ['malformed_request', 'validation_failed']],
    [url.includes(':publicToken'), ['card_not_found']],
    // Every other parameter of a path names something that may not be there.
    [/:(?!publicToken)/.test(url), ['not_found']],
    [config?.repeatable === true, ['idempotency_key_in_use', 'idempotency_key_reused']],
    [true, [...(config?.problems ?? []), 'internal_error', 'unavailable']],
  ]
  return [...new Set(codes.flatMap(([applies, those]) => (applies ? those : [])))]
}
