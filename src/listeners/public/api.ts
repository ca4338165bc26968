import type { FastifyRequest } from 'fastify'
import type { Requester } from '../../domain/client.ts'
import { isPublicToken, isUuid, type PublicToken } from '../../domain/identifiers.ts'
import { Problem } from '../../domain/problem.ts'
import type { AuditLogContext } from '../../operations/audit-log/audit-log.ts'
import type { CardDataContext } from '../../operations/card-data/card-data.ts'
import type { DecidingContext } from '../../operations/decisions/deciding.ts'
import type { EndpointContext } from '../../operations/decisions/endpoints.ts'
import type { EventStreams } from '../../operations/events/streams.ts'
import { requireCaller } from '../http/authentication.ts'
import type { Server } from '../http/server.ts'

/** The dependencies of the public listener's routes. */
export interface PublicApi {
  readonly app: Server
  readonly issuing: CardDataContext
  /** The common prefix of the specification's paths: `/thr/processor`. */
  readonly base: string
  /** The URL of this service, which its answers contain. */
  readonly baseUrl: string
  readonly eventStreams: EventStreams
  readonly deciding: DecidingContext
  readonly audit: AuditLogContext
  readonly decisionEndpoints: EndpointContext
  /** Returns the fault of an address that a client wants called, or null. */
  faultOfTarget(url: string): string | null
}

/** Returns the caller in the form of the operations. */
export const createRequester = (request: FastifyRequest): Requester => ({
  clientId: requireCaller(request).clientId,
  requestId: request.id,
})

/** Parses the card token in a path. @throws `Problem` `card_not_found` when it is no card token. */
export function parsePublicToken({ params }: { params: { publicToken: string } }): PublicToken {
  if (!isPublicToken(params.publicToken)) throw new Problem('card_not_found')
  return params.publicToken
}

/** Parses the webhook id in a path. @throws `Problem` `not_found` when it is no webhook id. */
export function parseWebhookId({ params }: { params: { webhookId: string } }): string {
  if (!isUuid(params.webhookId)) throw new Problem('not_found')
  return params.webhookId
}
