import { watchEndpoints } from '../../../operations/decisions/watched-endpoints.ts'
import { adminOrSupport, type PrivateApi, parseClientId } from '../api.ts'
import {
  WatchedEndpointParamsSchema,
  WatchedEndpointsSchema,
} from '../schemas/decision-endpoints.ts'

/** Shows operators the decision endpoints of a client. */
export function watchedEndpointsRoute({ app, cards }: PrivateApi): void {
  app.get(
    '/clients/:clientId/decision-endpoints',
    {
      config: adminOrSupport,
      schema: {
        operationId: 'listDecisionEndpoints',
        summary: "Read a client's decision endpoints",
        description:
          'The versions in force with their settings, who decided in the last hour and how fast, ' +
          'and the last failures.',
        tags: ['Clients'],
        params: WatchedEndpointParamsSchema,
        response: { 200: WatchedEndpointsSchema },
      },
    },
    async (request) => {
      const found = await watchEndpoints(cards, parseClientId(request))
      return {
        endpoints: [...found.endpoints],
        lastHour: { ...found.lastHour, decidedBy: [...found.lastHour.decidedBy] },
        failures: [...found.failures],
      }
    },
  )
}
