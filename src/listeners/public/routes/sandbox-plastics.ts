import Type from 'typebox'
import type { ReportedStatus } from '../../../domain/delivery.ts'
import { simulateDelivery } from '../../../operations/bureau/deliveries.ts'
import { parsePlasticNumber } from '../../http/plastics.ts'
import { noContent, repeatable } from '../../http/repeatable.ts'
import { EmptyBodySchema } from '../../http/validation.ts'
import { createRequester, type PublicApi, parsePublicToken } from '../api.ts'

interface SimulatedDelivery {
  readonly act: string
  readonly to: ReportedStatus
  readonly operationId: string
  readonly summary: string
}

const deliveries: readonly SimulatedDelivery[] = [
  { act: 'ship', to: 'Shipped', operationId: 'shipPlastic', summary: 'Ship a plastic' },
  { act: 'deliver', to: 'Delivered', operationId: 'deliverPlastic', summary: 'Deliver a plastic' },
  { act: 'return', to: 'Returned', operationId: 'returnPlastic', summary: 'Return a plastic' },
]

/** Routes that do what the bureau and the post would do, in a sandbox only. */
export function sandboxPlasticRoutes({ app, base, issuing }: PublicApi): void {
  for (const { act, operationId, summary, to } of deliveries) {
    app.post(
      `${base}/sandbox/plastics/:publicToken/:plasticNumber/${act}`,
      {
        config: {
          access: 'simulator.write',
          repeatable: true,
          problems: ['card_not_found', 'delivery_conflict'],
        },
        schema: {
          operationId,
          summary,
          description:
            'Sandbox only. Does what the bureau would report. Statuses in between are passed, ' +
            'each with its event.',
          tags: ['Simulator'],
          params: Type.Object({ publicToken: Type.String(), plasticNumber: Type.String() }),
          body: EmptyBodySchema,
          response: { 204: Type.Null() },
        },
      },
      async (request, reply) => {
        const plastic = {
          publicToken: parsePublicToken(request),
          plasticNumber: parsePlasticNumber(request),
        }
        const requester = createRequester(request)
        return noContent(
          reply,
          await simulateDelivery(issuing, requester, { ...plastic, to }, repeatable(request)),
        )
      },
    )
  }
}
