import Type from 'typebox'
import { isUuid } from '../../../domain/identifiers.ts'
import { Problem, parameterFault, validationFailed } from '../../../domain/problem.ts'
import { findAnyReceipt } from '../../../operations/audit-log/receipts.ts'
import { listDisclosures } from '../../../operations/card-data/shown-cards.ts'
import { cutPage, parseLimit, readCursor } from '../../http/pages.ts'
import type { PrivateApi } from '../api.ts'
import { DisclosureSchema, DisclosuresQuerySchema } from '../schemas/disclosures.ts'

const tags = ['Disclosures']
const config = { access: 'audit.read' } as const

/** Lists disclosures of card data, with the proof of each. */
export function listDisclosuresRoute({ app, audit }: PrivateApi): void {
  app.get(
    '/disclosures',
    {
      config: { ...config, lists: true },
      schema: {
        operationId: 'listDisclosures',
        summary: 'List disclosures',
        description: 'Newest first, of all clients and operators, including refused ones.',
        tags,
        querystring: DisclosuresQuerySchema,
        response: { 200: Type.Array(DisclosureSchema) },
      },
    },
    async (request, reply) => {
      const { clientId, cursor, limit, publicToken } = request.query
      if (clientId !== undefined && publicToken !== undefined) {
        throw validationFailed(parameterFault('clientId', 'must not be combined with publicToken'))
      }
      const pageSize = parseLimit(limit)
      const after = readCursor(cursor, ([log, index]) =>
        isCount(log, 2 ** 31 - 1) && isCount(index, Number.MAX_SAFE_INTEGER)
          ? { log, index }
          : null,
      )
      const found = await listDisclosures(audit, {
        publicToken,
        clientId,
        after,
        limit: pageSize + 1,
      })
      return cutPage(request, reply, found, {
        limit: pageSize,
        toPosition: ({ index, log }) => [log, index],
      })
    },
  )
}

/** Returns the proof of a disclosure. */
export function disclosureReceiptRoute({ app, audit }: PrivateApi): void {
  app.get(
    '/disclosures/:entry/receipt',
    {
      config,
      schema: {
        operationId: 'readDisclosureReceipt',
        summary: 'Read the receipt of a disclosure',
        description:
          'For any entry of the audit log (c2sp.org/tlog-proof). The answer is 202 until a ' +
          'checkpoint covers the entry.',
        tags,
        params: Type.Object({ entry: Type.String() }),
        response: {
          200: {
            description: 'The receipt.',
            content: { 'text/plain': { schema: Type.String() } },
          },
          202: Type.Unsafe<undefined>({
            type: 'null',
            description: 'No checkpoint covers the entry yet.',
          }),
        },
      },
    },
    async (request, reply) => {
      const { entry } = request.params
      if (!isUuid(entry)) throw new Problem('not_found')
      const receipt = await findAnyReceipt(audit, entry)
      if (receipt === null) return reply.code(202).header('retry-after', 1).send(undefined)
      return reply.type('text/plain; charset=utf-8').send(receipt)
    },
  )
}

const isCount = (value: unknown, most: number): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= most
