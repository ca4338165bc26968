import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import type { RouteOptions } from 'fastify'
import { type Scope, scopesOf } from '../../../domain/client.ts'
import type { ProblemCode } from '../../../domain/problem.ts'
import { scopesOfAccess } from '../../http/authentication.ts'
import { apiVersion } from '../../http/request.ts'
import { finishDocument, notesMember, type RouteNotes } from './finish-document.ts'

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
  'events.read': 'Read events, and receipts of them.',
  'webhooks.write': 'Manage webhook endpoints.',
  'simulator.write': 'Simulate authorizations, in the sandbox.',
  'authorizations.write': 'Ask for authorizations, on the private listener.',
  admin: 'Administer, on the private listener.',
  'support.read': 'Find cards of every client, and see what became of them.',
  'support.write': 'Freeze and unblock cards of every client; send deliveries again.',
  'audit.read': 'Read the audit log, and who was shown what.',
  'keys.read': 'Read which keys there are.',
  'keys.write': 'Make, rotate and retire keys.',
  approve: 'Approve what another person asked for. A person alone has it.',
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
        name: 'Audit log',
        description: 'Receipts that verify without this service.',
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
  transform: ({ route, schema, url }) => {
    const { access, bodyRequired, discloses, repeatable } = route.config ?? {}
    if (access === undefined || access === 'open') return { schema, url }
    const notes: RouteNotes = {
      problemCodes: problemCodesOf(route),
      isRepeatable: repeatable === true,
      isBodyRequired: bodyRequired === true,
      isDisclosure: discloses === true,
    }
    return {
      url,
      schema: {
        ...schema,
        security: scopesOfAccess(access).map((scope) => ({ oauth2: [scope] })),
        [notesMember]: notes,
      },
    }
  },
  transformObject: finishDocument,
})

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
