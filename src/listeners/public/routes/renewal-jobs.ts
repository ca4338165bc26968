import Type from 'typebox'
import { isUuid, makeProductId } from '../../../domain/identifiers.ts'
import { Problem } from '../../../domain/problem.ts'
import { findRenewals, requestRenewals } from '../../../operations/renewals/jobs.ts'
import { markReplay, repeatable } from '../../http/repeatable.ts'
import { createRequester, type PublicApi } from '../api.ts'
import { RenewalJobSchema, RequestRenewalsSchema } from '../schemas/renewals.ts'

const tags = ['Life of a card']

/** Routes that renew all cards of a product that expire before a day. */
export function renewalJobRoutes({ app, base, issuing }: PublicApi): void {
  app.post(
    `${base}/renewals`,
    {
      config: {
        access: 'cards.write',
        repeatable: true,
        bodyRequired: true,
        problems: ['product_not_available'],
      },
      schema: {
        operationId: 'requestRenewals',
        summary: 'Renew the cards of a product',
        description:
          'Orders the renewal of each open card of the product whose last day is before ' +
          '`expiringBefore`, each once, in the background. Read the job for its counts.',
        tags,
        body: RequestRenewalsSchema,
        response: { 202: RenewalJobSchema },
      },
    },
    async (request, reply) => {
      const { dryRun = false, expiringBefore, productId } = request.body
      const renewals = { productId: makeProductId(productId), expiringBefore, dryRun }
      const requester = createRequester(request)
      const answer = await requestRenewals(issuing, requester, renewals, repeatable(request))
      const job = markReplay(reply, answer)
      return reply
        .code(202)
        .header('location', `${base}/renewals/${job.jobId}`)
        .send({
          ...job,
          refused: { ...job.refused },
        })
    },
  )
  app.get(
    `${base}/renewals/:jobId`,
    {
      config: { access: 'cards.read' },
      schema: {
        operationId: 'findRenewals',
        summary: 'Read the renewal of the cards of a product',
        tags,
        params: Type.Object({ jobId: Type.String() }),
        response: { 200: RenewalJobSchema },
      },
    },
    async (request) => {
      const { jobId } = request.params
      if (!isUuid(jobId)) throw new Problem('not_found')
      const job = await findRenewals(issuing, createRequester(request), jobId)
      return { ...job, refused: { ...job.refused } }
    },
  )
}
