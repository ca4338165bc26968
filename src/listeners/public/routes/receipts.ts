import Type from 'typebox'
import { isUuid } from '../../../domain/identifiers.ts'
import { Problem } from '../../../domain/problem.ts'
import { composeVerifierKeys } from '../../../operations/audit-log/publish.ts'
import { findReceipt } from '../../../operations/audit-log/receipts.ts'
import { preflightRoute, publishedDocument, sendPublished } from '../../http/published-document.ts'
import { createRequester, type PublicApi } from '../api.ts'

/** The wait before a retry for a receipt that does not exist yet. */
const retrySeconds = 1

const ReceiptText = Type.String({
  description:
    'A file that proves, without this service, that the entry is in the log ' +
    '(c2sp.org/tlog-proof@v1).',
  examples: ['c2sp.org/tlog-proof@v1\nextra eyJzYWx0Ijoi…\nindex 73894\n…'],
})

/** Returns the receipt of a client's act, or of an act on its cards. */
export function readReceiptRoute({ app, audit, base }: PublicApi): void {
  app.get(
    `${base}/receipts/:entry`,
    {
      config: { access: 'events.read' },
      schema: {
        operationId: 'readReceipt',
        summary: 'Read the receipt of an entry of the audit log',
        description:
          '`Audit-Entry` in the answer to a disclosure names the entry, and so does the `id` ' +
          'of an event. Until a checkpoint covers the entry, which takes a second or two, the ' +
          'answer is 202: repeat the request after `Retry-After`.',
        tags: ['Audit log'],
        params: Type.Object({ entry: Type.String() }),
        response: {
          200: { description: 'The receipt.', content: { 'text/plain': { schema: ReceiptText } } },
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
      const receipt = await findReceipt(audit, createRequester(request), entry)
      if (receipt === null)
        return reply.code(202).header('retry-after', retrySeconds).send(undefined)
      return reply.type('text/plain; charset=utf-8').send(receipt)
    },
  )
}

/** Returns the keys that verify receipts and checkpoints. A page of any origin may fetch them. */
export function auditLogKeysRoute({ app, audit }: PublicApi): void {
  preflightRoute(app, '/.well-known/audit-log-keys')
  app.get(
    '/.well-known/audit-log-keys',
    { config: { access: 'open' }, schema: { hide: true, response: { 200: Type.Any() } } },
    async (request, reply) => {
      const keys = publishedDocument('text/plain; charset=utf-8', await composeVerifierKeys(audit))
      return sendPublished(request, reply.header('access-control-allow-origin', '*'), keys)
    },
  )
}
