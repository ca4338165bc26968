import Type from 'typebox'
import type { Administration } from '../../../administration/administration.ts'
import { setGrant } from '../../../administration/set-grant.ts'
import { noContent, repeatable } from '../../../http/repeatable.ts'
import type { Server } from '../../../http/server.ts'
import { operatorOf } from '../operator.ts'
import { EmptyBodySchema } from './client-schemas.ts'
import { clientIdOf } from './clients.ts'
import { productIdOf } from './products.ts'

const methods = [
  { method: 'PUT', isGranted: true, operationId: 'grantProduct', summary: 'Grant a product' },
  { method: 'DELETE', isGranted: false, operationId: 'revokeProduct', summary: 'Revoke a product' },
] as const

/** Which products a client system may issue cards of, one at a time. */
export function grantRoutes(app: Server['app'], administration: Administration): void {
  for (const { isGranted, method, operationId, summary } of methods) {
    app.route({
      method,
      url: '/clients/:clientId/products/:productId',
      config: { access: 'admin', repeatable: true },
      schema: {
        operationId,
        summary,
        tags: ['Clients'],
        params: Type.Object({ clientId: Type.String(), productId: Type.String() }),
        ...(isGranted && { body: EmptyBodySchema }),
        response: { 204: Type.Null() },
      },
      handler: async (request, reply) => {
        const productId = productIdOf(request.params)
        const grant = { clientId: clientIdOf(request), productId, isGranted }
        return noContent(
          reply,
          await setGrant(administration, operatorOf(request), grant, repeatable(request)),
        )
      },
    })
  }
}
