import Type from 'typebox'
import { parameterFault, validationFailed } from '../../../domain/problem.ts'
import {
  listOperatorEntries,
  type OperatorEntryPosition,
} from '../../../operations/audit-log/operator-entries.ts'
import { cutPage, parseInstant, parseLimit, readCursor } from '../../http/pages.ts'
import { adminOrAudit, type PrivateApi } from '../api.ts'
import { OperatorEntriesQuerySchema, OperatorEntrySchema } from '../schemas/audit-log.ts'

/** Lists what operators did, as the audit log has it. */
export function listOperatorEntriesRoute({ app, audit }: PrivateApi): void {
  app.get(
    '/audit/entries',
    {
      config: { ...adminOrAudit, lists: true },
      schema: {
        operationId: 'listOperatorEntries',
        summary: 'List entries of operators and settings in the audit log',
        description:
          'Acts of people and administrators on cards, and acts of anyone on clients, products, ' +
          'keys and settings, newest first. Settings that a client changes itself are included, ' +
          'and refused acts. An act is entered within seconds.',
        tags: ['Audit log'],
        querystring: OperatorEntriesQuerySchema,
        response: { 200: Type.Array(OperatorEntrySchema) },
      },
    },
    async (request, reply) => {
      const { act, clientId, cursor, from, limit, publicToken, to } = request.query
      const isOther = clientId !== undefined || act !== undefined
      if (publicToken !== undefined && isOther) {
        const detail = 'must not be combined with clientId or act'
        throw validationFailed(parameterFault('publicToken', detail))
      }
      const pageSize = parseLimit(limit)
      const filter = {
        publicToken,
        clientId,
        act,
        from: toUtc(from),
        to: toUtc(to),
      }
      const after = readCursor(cursor, parsePosition)
      const found = await listOperatorEntries(audit, filter, after, pageSize + 1)
      const page = cutPage(request, reply, found, {
        limit: pageSize,
        toPosition: ({ enteredAt, index, log }) => [enteredAt, log, index],
      })
      return page.map(({ enteredAt: _, ...entry }) => entry)
    },
  )
}

const toUtc = (instant: string | undefined): string | null =>
  instant === undefined ? null : new Date(instant).toISOString()

function parsePosition([at, log, index]: readonly unknown[]): OperatorEntryPosition | null {
  const instant = parseInstant(at)
  return instant !== null && isCount(log, 2 ** 31 - 1) && isCount(index, Number.MAX_SAFE_INTEGER)
    ? { at: instant, log, index }
    : null
}

const isCount = (value: unknown, most: number): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= most
