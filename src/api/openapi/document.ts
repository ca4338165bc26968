import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import { apiVersion } from '../../http/request-headers.ts'
import { type Scope, scopesOf } from '../../oauth/scopes.ts'
import { describeRoute } from './describe-route.ts'
import { finishDocument } from './finish-document.ts'

const scopeDescriptions: Readonly<Record<Scope, string>> = {
  'cards.read': 'List products; read cards, card status and attempts.',
  'cards.write': 'Create a card; change its status.',
  'cards.encrypted': 'Get Card Data.',
  'pin.encrypted': 'The PIN inside Get Card Data.',
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
- \`Api-Version: ${apiVersion}\` may be sent to insist on this version.
- \`X-Request-Id\` is repeated in the answer, or made.`

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
      { name: 'Products', description: 'What cards can be made of.' },
      { name: 'Cards', description: 'Creation, record and status.' },
      { name: 'PIN', description: 'Setting, reading and unblocking the PIN.' },
      { name: 'CVV', description: 'Reading and changing the CVV status.' },
      { name: 'Events', description: 'What happened to the cards.' },
      { name: 'Webhooks', description: 'Having it told.' },
      {
        name: 'Card data',
        description: 'PAN, CVV2, expiry and PIN, sealed to the device.',
      },
      { name: 'Simulator', description: 'Playing the card network, in the sandbox.' },
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
