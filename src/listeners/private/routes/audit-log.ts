import { hash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import Type from 'typebox'
import { tileWidth } from '../../../../packages/audit/tiles.ts'
import { Problem } from '../../../domain/problem.ts'
import * as publication from '../../../operations/audit-log/publish.ts'
import { succeedAuditLog } from '../../../operations/audit-log/successor.ts'
import { publishedDocument, sendPublished } from '../../http/published-document.ts'
import { markReplay, repeatable } from '../../http/repeatable.ts'
import { adminChange, adminOrAudit, createRequester, type PrivateApi } from '../api.ts'
import { AuditLogSchema, SucceedAuditLogSchema, SuccessionSchema } from '../schemas/audit-log.ts'

const open = { access: 'open', problems: ['not_found'] } as const
const tags = ['Audit log']
const text = { hide: true, response: { 200: Type.Any() } }

/** `<L>/<N>` or `entries/<N>`, and `.p/<W>` for a partial one (c2sp.org/tlog-tiles). */
const tileForm =
  /^(entries|0|[1-9][0-9]?)\/((?:x[0-9]{3}\/){0,4}[0-9]{3})(?:\.p\/([1-9][0-9]{0,2}))?$/

/**
 * The tree of the log, which anyone who reaches this listener may read: it contains no personal
 * data. Each log has permanent addresses; addresses without a number are those of the current log.
 */
export function auditTreeRoutes({ app, audit }: PrivateApi): void {
  const sendNote = (request: FastifyRequest, reply: FastifyReply, note: string | null) => {
    if (note === null) throw new Problem('not_found')
    return sendPublished(request, reply, publishedDocument('text/plain; charset=utf-8', note))
  }
  app.get('/audit/checkpoint', { config: open, schema: text }, async (request, reply) =>
    sendNote(request, reply, await publication.findCheckpoint(audit, null)),
  )
  app.get('/audit/keys', { config: open, schema: text }, async (request, reply) =>
    sendNote(request, reply, await publication.composeVerifierKeys(audit)),
  )
  const params = Type.Object({ log: Type.String() })
  app.get(
    '/audit/logs/:log/checkpoint',
    { config: open, schema: { ...text, params } },
    async (request, reply) =>
      sendNote(
        request,
        reply,
        await publication.findCheckpoint(audit, parseLogNumber(request.params.log)),
      ),
  )
  const mediaType = 'application/octet-stream'
  const tileBytes = async (log: number | null, path: string) => {
    const tile = await publication.findPublishedTile(audit, log, parseTilePath(path))
    if (!tile) throw new Problem('not_found')
    return Buffer.from(tile)
  }
  const bytes = { hide: true, response: { 200: Type.Any() } }
  const wildcard = { '*': Type.String() }
  app.get(
    '/audit/tile/*',
    { config: open, schema: { ...bytes, params: Type.Object(wildcard) } },
    async (request, reply) => {
      // A successor has other bytes at this address, so caches must revalidate.
      const tile = await tileBytes(null, request.params['*'])
      const entityTag = `"${hash('sha256', tile, 'base64url').slice(0, 27)}"`
      return sendPublished(request, reply, { mediaType, bytes: tile, entityTag })
    },
  )
  app.get(
    '/audit/logs/:log/tile/*',
    {
      config: open,
      schema: { ...bytes, params: Type.Object({ ...wildcard, log: Type.String() }) },
    },
    async (request, reply) => {
      const tile = await tileBytes(parseLogNumber(request.params.log), request.params['*'])
      reply.header('cache-control', 'public, max-age=31536000, immutable')
      return reply.type(mediaType).send(tile)
    },
  )
}

/** @throws `Problem` `not_found` if the text cannot be the number of a log. */
function parseLogNumber(digits: string): number {
  if (!/^[1-9][0-9]{0,8}$/.test(digits)) throw new Problem('not_found')
  return Number(digits)
}

/** @throws `Problem` `not_found` if the text cannot be the path of a tile. */
function parseTilePath(path: string) {
  const [, level = '', name = '', width] = tileForm.exec(path) ?? []
  const index = Number(name.replaceAll(/[x/]/g, ''))
  const isPadded = name.startsWith('x000/')
  const isFull = width === undefined
  if (name === '' || isPadded || !Number.isSafeInteger(index)) throw new Problem('not_found')
  if (!isFull && Number(width) >= tileWidth) throw new Problem('not_found')
  return {
    level: level === 'entries' ? level : Number(level),
    index,
    width: isFull ? tileWidth : Number(width),
  } as const
}

/** Routes for auditors in addition to the tree: the texts of entries and the list of logs. */
export function auditorRoutes({ app, audit }: PrivateApi): void {
  app.get(
    '/audit/logs',
    {
      config: { ...adminOrAudit, lists: true },
      schema: {
        operationId: 'listAuditLogs',
        summary: 'List the audit logs, the current one first',
        tags,
        response: { 200: Type.Array(AuditLogSchema) },
      },
    },
    async () => publication.listLogs(audit),
  )
  app.get(
    '/audit/logs/:log/openings/:bundle',
    {
      config: { ...adminOrAudit, lists: true },
      schema: {
        operationId: 'readAuditOpenings',
        summary: 'Read the texts of 256 entries of an audit log',
        tags,
        params: Type.Object({ log: Type.String(), bundle: Type.String() }),
        response: { 200: Type.String({ description: 'A line of JSON for each entry.' }) },
      },
    },
    async (request, reply) => {
      const { bundle, log } = request.params
      const index = /^(0|[1-9][0-9]{0,12})$/.test(bundle) ? Number(bundle) : null
      const lines =
        index === null ? null : await publication.findOpenings(audit, parseLogNumber(log), index)
      if (lines === null) throw new Problem('not_found')
      return reply.type('application/jsonl; charset=utf-8').send(lines)
    },
  )
}

/** Begins the successor of a log that must not be signed. */
export function succeedAuditLogRoute({ app, audit }: PrivateApi): void {
  app.post(
    '/audit/successor',
    {
      config: {
        ...adminChange,
        problems: ['audit_log_continues'],
        approval: { kinds: ['audit-successor'] },
      },
      schema: {
        operationId: 'succeedAuditLog',
        summary: 'Begin the successor of an audit log',
        description:
          'For a log that must no longer be signed, because the database was restored or ' +
          'lags behind.',
        tags,
        body: SucceedAuditLogSchema,
        response: { 201: SuccessionSchema },
      },
    },
    async (request, reply) => {
      const { reason } = request.body
      const answer = await succeedAuditLog(
        audit,
        createRequester(request),
        reason,
        repeatable(request),
      )
      const succession = markReplay(reply, answer)
      return reply.code(201).header('location', '/audit/logs').send(succession)
    },
  )
}
