import type { SwaggerTransform } from '@fastify/swagger'
import { problemKinds } from '../errors.ts'
import { apiVersion } from '../http/request-headers.ts'
import { scopesOf } from '../oauth/scopes.ts'
import { ProblemSchema } from './schemas/responses.ts'

const scopeDescriptions = Object.fromEntries(
  scopesOf('public').map((scope) => [scope, `Allows ${scope}.`]),
)

/** What the generated document says beside the routes. */
export const openapiDocument = (baseUrl: string) => ({
  openapi: '3.1.0',
  info: {
    title: 'Pinfold',
    version: apiVersion,
    description:
      'A card-issuing core: products, cards, PINs, PIN and CVV status with the remaining tries. ' +
      'Failures are problem documents (RFC 9457) whose `code` is stable.',
    license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
  },
  servers: [{ url: baseUrl }],
  tags: [
    { name: 'Products', description: 'What cards can be made of.' },
    { name: 'Cards', description: 'Creation, record and status.' },
    { name: 'PIN', description: 'Setting, reading and unblocking the PIN.' },
    { name: 'CVV', description: 'Reading and changing the CVV status.' },
  ],
  components: {
    securitySchemes: {
      oauth2: {
        type: 'oauth2' as const,
        flows: {
          clientCredentials: { tokenUrl: `${baseUrl}/oauth/token`, scopes: scopeDescriptions },
        },
      },
    },
  },
})

const idempotencyKey = {
  type: 'object',
  properties: {
    'idempotency-key': {
      type: 'string',
      pattern: '^[\\x21-\\x7e]{1,255}$',
      description: 'The same key and request get the first 2xx answer again, for 24 hours.',
    },
  },
}

/** Statuses that any call with a token may be answered with. */
const commonStatuses = [400, 401, 403, 429, 500, 503]

/** Adds to each route what follows from its configuration: scope, idempotency key, failures. */
export const describeRoute: SwaggerTransform = ({ route, schema, url }) => {
  const { access, repeatable } = route.config ?? {}
  if (access === undefined || access === 'open') return { schema, url }
  const statuses = [
    ...commonStatuses,
    ...(url.includes(':publicToken') ? [404] : []),
    ...(route.method === 'GET' ? [] : [409, 413, 415]),
    422,
  ]
  const problems = Object.fromEntries(statuses.map((status) => [status, problemAnswer(status)]))
  return {
    url,
    schema: {
      ...schema,
      security: [{ oauth2: [access] }],
      ...(repeatable && { headers: idempotencyKey }),
      response: { ...(schema.response as object), ...problems },
    },
  }
}

function problemAnswer(status: number): object {
  const codes = Object.entries(problemKinds)
    .filter(([, kind]) => kind.status === status)
    .map(([code]) => `\`${code}\``)
  return {
    description: codes.join(', '),
    content: { 'application/problem+json': { schema: ProblemSchema } },
  }
}
