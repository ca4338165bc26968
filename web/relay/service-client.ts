import { settingsOf } from '../../sdk/client/options.ts'
import type { Answer } from '../../sdk/client/transport/attempt.ts'
import { createExchange } from '../../sdk/client/transport/exchange.ts'

/** Where a client system finds the service, and what it shows to get a token. */
export interface ServiceAccess {
  /** Where the service is called, without a slash at the end. */
  readonly serviceUrl: string
  readonly processorPath: string
  readonly clientId: string
  readonly clientSecret: string
}

/** A call of the specification. The path is written without `/thr/processor`. */
export interface ServiceCall {
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly path: string
  /** JSON, as it is sent. */
  readonly body?: string
  readonly idempotencyKey?: string
}

/** The client of the SDK as far down as answers come back as they were: they are passed on. */
export interface ServiceClient {
  /** What stands before every path. */
  readonly base: string
  /** @throws CallFailed when the service cannot be reached or gives no token. */
  call(call: ServiceCall): Promise<Answer>
}

/** @param scope the least that this caller needs. */
export function createServiceClient(access: ServiceAccess, scope: string): ServiceClient {
  const { clientId, clientSecret, processorPath, serviceUrl } = access
  const settings = settingsOf({
    ...{ baseUrl: serviceUrl, processorPath, clientId, clientSecret, scope },
    tokenEndpoint: `${serviceUrl}/oauth/token`,
    timeoutMs: 10_000,
    retries: 0,
    // Beside the service, which says by which address it is called.
    allowHttp: true,
  })
  const exchange = createExchange(settings)
  return {
    base: `/thr/${processorPath}`,
    call: ({ body, idempotencyKey, method, path }) =>
      exchange.send({
        url: `${settings.base}${path}`,
        method,
        headers: idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey },
        body,
      }),
  }
}
