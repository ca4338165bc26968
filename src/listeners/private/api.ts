import type { FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import { isClientId, type Requester } from '../../domain/client.ts'
import { isPublicToken, type PublicToken } from '../../domain/identifiers.ts'
import { Problem } from '../../domain/problem.ts'
import type { ApprovalContext } from '../../operations/approvals/approvals.ts'
import type { AuditLogContext } from '../../operations/audit-log/audit-log.ts'
import type { AuthorizationContext } from '../../operations/authorizations/authorization.ts'
import type { CardDataContext } from '../../operations/card-data/card-data.ts'
import type { ClientContext } from '../../operations/clients/clients.ts'
import type { KeyContext } from '../../operations/keys/keys.ts'
import type { LinkContext } from '../../operations/links/links.ts'
import { requireCaller } from '../http/authentication.ts'
import type { Metrics } from '../http/metrics.ts'
import { readCursor } from '../http/pages.ts'
import type { RateLimiter } from '../http/rate-limit.ts'
import type { Server } from '../http/server.ts'
import type { EffectiveLimitSchema } from './schemas/limits.ts'
import type { Watching } from './watching.ts'

/** The page that shows the audit log's tree, with its style and its scripts. */
interface AuditPages {
  answer(request: {
    readonly method: string
    readonly path: string
    readonly headers: object
    readonly body: string
  }): Promise<{
    readonly status: number
    readonly headers: Readonly<Record<string, string>>
    readonly body: string
  }>
}

/** The last vacuum of the database, and the table with the most dead rows. */
export interface Upkeep {
  /** When a table was last vacuumed or analyzed; null if never. */
  readonly lastVacuumAt: Date | null
  readonly tableName: string
  readonly deadRows: number
  readonly liveRows: number
}

/** The dependencies of the private listener's routes. */
export interface PrivateApi {
  readonly app: Server
  readonly authorizing: AuthorizationContext
  readonly cards: CardDataContext
  readonly keys: KeyContext
  readonly administration: ClientContext
  readonly links: LinkContext
  readonly approvals: ApprovalContext
  readonly audit: AuditLogContext
  readonly auditPages: AuditPages
  /** Every limit of the configuration. */
  readonly effectiveLimits: readonly Static<typeof EffectiveLimitSchema>[]
  readonly metrics: Metrics
  readonly watching: Watching
  /** Check whether the essential dependencies answer. */
  readonly pings: Readonly<Record<'database' | 'hsm', () => Promise<void>>>
  /** Finds the last vacuum, and the table with the most dead rows. */
  findUpkeep(): Promise<Upkeep | null>
  /** The rate limiter of clients; null if limits are off. */
  readonly rate: RateLimiter | null
}

/** Routes that administrators read. */
export const admin = { access: 'admin' } as const
/** Routes by which administrators make changes. */
export const adminAct = { ...admin, repeatable: true } as const
/** The same with a body. */
export const adminChange = { ...adminAct, bodyRequired: true } as const

/** Routes that support staff read. */
export const support = { access: 'support.read' } as const
/** Routes by which support staff make changes, with a reason. */
export const supportAct = {
  access: 'support.write',
  repeatable: true,
  bodyRequired: true,
} as const

/** Routes that support staff can read, too: resources without their secrets. */
export const adminOrSupport = { access: ['admin', 'support.read'] } as const
/** Routes that auditors can read, too. */
export const adminOrAudit = { access: ['admin', 'audit.read'] } as const
/** Routes that read keys. */
export const keysRead = { access: ['admin', 'keys.read', 'keys.write'] } as const
/** Routes of keys that support staff can read, too. */
export const keysOrSupport = {
  access: ['admin', 'support.read', 'keys.read', 'keys.write'],
} as const
/** Routes that change keys. */
export const keysAct = { access: ['admin', 'keys.write'], repeatable: true } as const
/** The same with a body. */
export const keysChange = { ...keysAct, bodyRequired: true } as const

/**
 * Returns the requester of an administrative act, from its token.
 * @param reason the reason in the request; null without one.
 */
export const createRequester = (
  request: FastifyRequest,
  reason: string | null = null,
): Requester => {
  const { carriesOut, clientId } = requireCaller(request)
  return { clientId, requestId: request.id, approvedBy: carriesOut?.approvedBy ?? null, reason }
}

/** Parses the client id in a path. @throws `Problem` `not_found` when it is no client id. */
export function parseClientId({ params }: { params: { clientId: string } }): string {
  if (!isClientId(params.clientId)) throw new Problem('not_found')
  return params.clientId
}

/** Parses the client id after which a page begins. */
export const clientAfter = (cursor: string | undefined): string =>
  readCursor(cursor, ([id]) => (isClientId(id) ? id : null)) ?? ''

/**
 * Parses the card token in a path.
 * @throws `Problem` `card_not_found` when it is no card token.
 */
export function parsePublicToken({ params }: { params: { publicToken: string } }): PublicToken {
  if (!isPublicToken(params.publicToken)) throw new Problem('card_not_found')
  return params.publicToken
}
