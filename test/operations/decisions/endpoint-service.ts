import type { Answer, CallOptions, TestService } from '../../support/service.ts'

/** Calls of a client on its decision endpoint. */

/** Answers a ping as an endpoint should, and approves everything else. */
export const answerPing = ({ body }: { body: { type?: string; challenge?: string } }): object =>
  body.type === 'decision.ping' ? { challenge: body.challenge } : { decision: 'approve' }

export const setEndpoint = (
  service: TestService,
  settings: object,
  query = '',
  options: CallOptions = {},
): Promise<Answer> =>
  service.call('PUT', `/decision-endpoint${query}`, { body: settings, ...options })

export const activate = (
  service: TestService,
  query = '',
  options: CallOptions = {},
): Promise<Answer> => service.call('POST', `/decision-endpoint/activate${query}`, options)

export const rollBack = (
  service: TestService,
  query = '',
  options: CallOptions = {},
): Promise<Answer> => service.call('POST', `/decision-endpoint/rollback${query}`, options)

export const findEndpoint = (service: TestService, query = ''): Promise<Answer> =>
  service.call('GET', `/decision-endpoint${query}`)

/** Registers settings and puts them in force; the URL must answer pings. */
export const putInForce = async (
  service: TestService,
  settings: object,
  query = '',
): Promise<Answer> => {
  const registered = await setEndpoint(service, settings, query)
  if (registered.status !== 200) throw new Error(`It was not registered: ${registered.text}`)
  const activated = await activate(service, query)
  if (activated.status !== 200) throw new Error(`It was not activated: ${activated.text}`)
  return activated
}
