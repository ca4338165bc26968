import { refusal, type Site } from '../../../web/site/site.ts'
import { createServiceClient, type ServiceAccess } from '../relay/relay.ts'

/**
 * A shop with a terminal, independent of the relay: what a cardholder types there goes to the card
 * network in a PIN block, and never through the client system. The sandbox's simulator plays both.
 * @param base path of the shop: `/demo/shop`.
 */
export function createShop(access: ServiceAccess, base: string): Site {
  const service = createServiceClient(access, 'simulator.write')
  return {
    async answer({ body, method, path }) {
      if (method !== 'POST' || path !== `${base}/purchases`) {
        return refusal(404, 'not_found', 'The address does not exist.')
      }
      try {
        const call = { method: 'POST', path: '/simulator/authorizations', body } as const
        const { headers, status, text } = await service.call(call)
        const type = headers.get('content-type') ?? 'application/json'
        return { status, headers: { 'content-type': type }, body: text }
      } catch {
        return refusal(502, 'service_unreachable', 'The card network did not answer.')
      }
    },
  }
}
