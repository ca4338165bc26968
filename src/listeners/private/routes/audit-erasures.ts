import Type from 'typebox'
import { isPublicToken, isUuid } from '../../../domain/identifiers.ts'
import { Problem } from '../../../domain/problem.ts'
import * as erasures from '../../../operations/audit-log/erase.ts'
import { markReplay, repeatable } from '../../http/repeatable.ts'
import { requireExactlyOne } from '../../http/request.ts'
import { adminChange, adminOrAudit, createRequester, type PrivateApi } from '../api.ts'
import { ErasureSchema, RequestErasureSchema } from '../schemas/audit-erasures.ts'

const tags = ['Audit log']

/** Erases the texts of entries about a card or a client; the tree does not change. */
export function erasureRoutes({ app, audit }: PrivateApi): void {
  app.post(
    '/audit/erasures',
    {
      config: {
        ...adminChange,
        bodyRules: [requireExactlyOne('publicToken', 'clientId')],
        problems: ['erasure_refused'],
        approval: { kinds: ['erasure'] },
      },
      schema: {
        operationId: 'requestAuditErasure',
        summary: 'Erase the content of audit log entries',
        description:
          'The erasure runs in the background, in steps; each step is an entry, which names the ' +
          'erased entries by index. No entry is erased within AUDIT_ERASURE_LEAST_DAYS. Entries ' +
          'of the requester, the approver, the people behind both and the clients that these ' +
          'control are not erased, nor are entries of approvals, clients, keys, checks, settings ' +
          'and erasures.',
        tags,
        body: RequestErasureSchema,
        response: { 202: ErasureSchema },
      },
    },
    async (request, reply) => {
      const { clientId = '', publicToken, reason } = request.body
      // The route's rule ensures that one of them is given.
      const wanted = isPublicToken(publicToken) ? { publicToken, reason } : { clientId, reason }
      const answer = await erasures.requestErasure(
        audit,
        createRequester(request),
        wanted,
        repeatable(request),
      )
      const erasure = markReplay(reply, answer)
      return reply.code(202).header('location', `/audit/erasures/${erasure.erasure}`).send(erasure)
    },
  )
  app.get(
    '/audit/erasures/:erasure',
    {
      config: adminOrAudit,
      schema: {
        operationId: 'findAuditErasure',
        summary: 'Read the progress of an erasure',
        tags,
        params: Type.Object({ erasure: Type.String() }),
        response: { 200: ErasureSchema },
      },
    },
    async ({ params }) => {
      if (!isUuid(params.erasure)) throw new Problem('not_found')
      return erasures.findShownErasure(audit, params.erasure)
    },
  )
}
