import type { FastifyDynamicSwaggerOptions, SwaggerTransform } from '@fastify/swagger'
import type { RouteOptions } from 'fastify'
import { type Scope, scopesOf } from '../../../domain/client.ts'
import type { ProblemCode } from '../../../domain/problem.ts'
import { apiVersion } from '../../http/request.ts'
import { stringFormats } from '../schemas/formats.ts'
import { finishDocument } from './finish-document.ts'

const scopeDescriptions: Readonly<Record<Scope, string>> = {
  'cards.read': 'List products; read cards, card status and attempts.',
  'cards.write': 'Create a card; change its status.',
  'cards.encrypted': 'Get Card Data.',
  'pin.encrypted': 'Get the PIN with Get Card Data.',
  'pin.read': 'Read the PIN status.',
  'pin.reveal': 'Read the current PIN, in clear.',
  'pin.write': 'Set and unblock the PIN.',
  'cvv.read': 'Read the CVV status.',
  'cvv.write': 'Block and unblock the CVV.',
  'events.read': 'Read events.',
  'webhooks.write': 'Manage webhook endpoints.',
  'simulator.write': 'Simulate authorizations, in the sandbox.',
  'authorizations.write': 'Ask for authorizations, on the private listener.',
  admin: 'Administer, on the private listener.',
}

const publicScopes = Object.fromEntries(
  scopesOf('public').map((scope) => [scope, scopeDescriptions[scope]]),
)

const description = `A card-issuing core: products, cards, PINs, PIN and CVV status with the remaining tries.

- Every call carries an access token of the client (OAuth 2.0, client credentials).
- Bodies are JSON in UTF-8. PINs and card references are strings. Unknown members and query parameters are refused.
- Failures are problem documents (RFC 9457). Their \`code\` is stable: switch on it.
- \`Idempotency-Key\` on a POST or PUT makes it safe to send again.
- \`Api-Version: ${apiVersion}\` may be sent to require this version.
- \`X-Request-Id\` is returned as it was sent; without one, the service makes one.`

/** The document that describes the public listener: OpenAPI 3.1, made from the routes. */
export const openapiOptions = (baseUrl: string): FastifyDynamicSwaggerOptions => ({
  openapi: {
    openapi: '3.1.0',
    info: {
      title: 'Pinfold',
      version: apiVersion,
      summary: 'A card-issuing core that anyone can run.',
      description,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: baseUrl }],
    tags: [
      { name: 'Products', description: 'The card products that cards are created from.' },
      { name: 'Cards', description: 'Creating and reading cards, and changing their status.' },
      { name: 'PIN', description: 'Setting, reading and unblocking the PIN.' },
      { name: 'CVV', description: 'Reading and changing the CVV status.' },
      { name: 'Events', description: 'What happened to the cards.' },
      { name: 'Webhooks', description: 'Delivery of events to your endpoints.' },
      {
        name: 'Card data',
        description: 'PAN, CVV2, expiry and PIN, encrypted for the device.',
      },
      {
        name: 'Simulator',
        description: 'Authorizations as a card network would ask for them, in the sandbox.',
      },
    ],
    components: {
      securitySchemes: {
        oauth2: {
          type: 'oauth2',
          description: 'Every operation names the scope that it needs.',
          flows: {
            clientCredentials: { tokenUrl: `${baseUrl}/oauth/token`, scopes: publicScopes },
          },
        },
      },
    },
  },
  transform: describeRoute,
  transformObject: finishDocument,
})

/** What follows from a route's configuration, on its way through the generator. */
export interface RouteNotes {
  readonly problemCodes: readonly ProblemCode[]
  readonly isRepeatable: boolean
  readonly isBodyRequired: boolean
}

/** The member of an operation that holds its {@link RouteNotes} until the document is finished. */
export const notesMember = 'x-route-notes'

/** Adds to a route's description what follows from its configuration. */
const describeRoute: SwaggerTransform = ({ route, schema, url }) => {
  const { access, bodyRequired, repeatable } = route.config ?? {}
  if (access === undefined || access === 'open') return { schema, url }
  const notes: RouteNotes = {
    problemCodes: problemCodesOf(route),
    isRepeatable: repeatable === true,
    isBodyRequired: bodyRequired === true,
  }
  return { url, schema: { ...schema, security: [{ oauth2: [access] }], [notesMember]: notes } }
}

/** What a route refuses, in the order in which a call is refused (docs/api.md, "Order of refusal"). */
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

const formats = stringFormats(() => '')

/** What JSON Schema itself can say of some of our formats. */
const equivalents: Readonly<Record<string, object>> = {
  id: { format: 'uuid' },
  'birth-date': { format: 'date' },
  'year-month': { pattern: '^[0-9]{4}-(0[1-9]|1[0-2])$' },
  'country-code': { pattern: '^[A-Z]{3}$' },
}

/** A schema whose format only this service knows, with the rule of that format in words. */
export function publishedFormat(schema: Record<string, unknown>): Record<string, unknown> {
  const { format, ...rest } = schema
  const rule = formats[String(format)]
  if (!rule) return schema
  const description = `${rule.detail.replace(/^m/, 'M')}.`
  return { description, ...rest, ...equivalents[String(format)] }
}

const header = (description: string, example: string) => ({
  description,
  schema: { type: 'string' },
  example,
})

/** Headers of answers, by name. */
export const namedHeaders = {
  'Api-Version': header('The version of this interface.', '2026-11-20'),
  'Idempotency-Replayed': header(
    '`true` where this is the stored answer to the first request. Absent otherwise.',
    'true',
  ),
  Link: header(
    'The next page, if there is one (RFC 8288).',
    '</thr/processor/cards?cursor=WyIyMDI2Il0>; rel="next"',
  ),
  Location: header('Where the new resource is.', '/thr/processor/cards/4820117360'),
  RateLimit: header('The calls that are left.', '"calls";r=399;t=1'),
  'RateLimit-Policy': header('The calls that are allowed.', '"calls";q=400;w=2'),
  'Retry-After': header('Seconds to wait before the next try.', '1'),
  'WWW-Authenticate': header('What kind of token is needed (RFC 6750).', 'Bearer'),
  'X-Request-Id': header(
    'The id of this request: that of the caller, or a new one.',
    '3f0c1d52-8f0e-4d5a-9a53-0c6a1a3b7c11',
  ),
} as const

/** Those that every answer has. */
const always = ['X-Request-Id', 'Api-Version']

/** References to the headers of one answer. */
export const answerHeaders = (names: readonly string[]): Record<string, object> =>
  Object.fromEntries(
    [...new Set([...always, ...names])].map((name) => [
      name,
      { $ref: `#/components/headers/${name}` },
    ]),
  )
