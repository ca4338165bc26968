import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import type { RouteOptions } from 'fastify'
import { type ListenerName, listScopes, type Scope } from '../../../domain/client.ts'
import type { ProblemCode } from '../../../domain/problem.ts'
import { listNeededScopes } from '../authentication.ts'
import { apiVersion } from '../request.ts'
import { type Finishing, finishDocument, notesMember, type RouteNotes } from './finish-document.ts'

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
  'payments.read': 'Read authorizations and why they were declined.',
  'decisions.write': 'Decide authorizations: set the endpoint, take requests and answer them.',
  'events.read': 'Read events and their receipts.',
  'webhooks.write': 'Manage webhook endpoints.',
  'simulator.write': 'Simulate authorizations, in the sandbox.',
  'authorizations.write': 'Send authorization requests, on the private listener.',
  admin: 'Administer, on the private listener.',
  'support.read': 'Find cards of every client, and read their history.',
  'support.pan': 'Find a card of any client by its full number. Each search is recorded.',
  'bureau.write': 'Take ordered plastics in batches, and report their delivery.',
  'support.write': 'Freeze and unblock cards of every client; send deliveries again.',
  'audit.read': 'Read the audit log and the disclosures.',
  'keys.read': 'List the keys.',
  'keys.write': 'Generate, rotate and retire keys.',
  approve: 'Approve the requests of other people. Only people have this scope.',
}

/** The description of a listener in its document. */
export interface Description extends Finishing {
  readonly listener: ListenerName
  readonly title: string
  readonly summary: string
  readonly description: string
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  /** The URL of the listener for its callers. */
  readonly url: string
  /** The token endpoint for its callers. */
  readonly tokenUrl: string
}

/**
 * Returns the options for the document of a listener: OpenAPI 3.1, from the routes with an
 * `operationId`.
 */
export const openapiOptions = (described: Description): FastifyDynamicSwaggerOptions => ({
  openapi: {
    openapi: '3.1.0',
    info: {
      title: described.title,
      version: apiVersion,
      summary: described.summary,
      description: described.description,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: described.url }],
    tags: [...described.tags],
    components: {
      securitySchemes: {
        oauth2: {
          type: 'oauth2',
          description: 'Every operation names its required scope.',
          flows: {
            clientCredentials: {
              tokenUrl: described.tokenUrl,
              scopes: Object.fromEntries(
                listScopes(described.listener).map((scope) => [scope, scopeDescriptions[scope]]),
              ),
            },
          },
        },
      },
    },
  },
  transform: ({ route, schema, url }) => {
    const { access, bodyRequired, discloses, repeatable } = route.config ?? {}
    if (access === undefined || schema?.operationId === undefined) {
      return { url, schema: { ...schema, hide: true } }
    }
    const notes: RouteNotes = {
      problemCodes: listProblemCodes(route),
      isRepeatable: repeatable === true,
      isBodyRequired: bodyRequired === true,
      isDisclosure: discloses === true,
      isOpen: access === 'open',
      isMetadataFilter: hasPatterns(schema.querystring),
    }
    const scopes = access === 'open' ? [] : listNeededScopes(access)
    return {
      url,
      schema: {
        ...schema,
        // One of the scopes suffices.
        security: scopes.map((scope) => ({ oauth2: [scope] })),
        [notesMember]: notes,
      },
    }
  },
  transformObject: finishDocument(described),
})

const hasPatterns = (schema: unknown): boolean =>
  typeof schema === 'object' && schema !== null && 'patternProperties' in schema

/** The problem codes of a route, in the order of docs/reference/api.md, "Order of checks". */
export function listProblemCodes({
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
    // Every other parameter of a path names a resource that may not exist.
    [/:(?!publicToken)/.test(url), ['not_found']],
    [config?.repeatable === true, ['idempotency_key_in_use', 'idempotency_key_reused']],
    [true, [...(config?.problems ?? []), 'internal_error', 'unavailable']],
  ]
  return [...new Set(codes.flatMap(([applies, those]) => (applies ? those : [])))]
}
