import type { Session } from '../site/session.ts'
import type { ServiceClient } from './service-client.ts'

/** Whose cards are whose. The service knows its client systems; their cardholders only they know. */
export interface OwnCards {
  readonly service: ServiceClient
  /** The `customerReference` of cards that were asked for before: it never changes. */
  readonly references: Map<string, string>
}

const referencesKept = 10_000

export const ownCards = (service: ServiceClient): OwnCards => ({ service, references: new Map() })

/** Whether a card belongs to the cardholder who asks. @throws Error when the service is away. */
export async function isOwnCard(
  { references, service }: OwnCards,
  publicToken: string,
  { reference }: Session,
): Promise<boolean> {
  const known = references.get(publicToken)
  if (known !== undefined) return known === reference
  const { status, text } = await service.call({ method: 'GET', path: `/cards/${publicToken}` })
  if (status === 404) return false
  if (status !== 200) throw new Error(`The card could not be read: ${status}`)
  const { customerReference = '' } = JSON.parse(text) as { customerReference?: string }
  if (references.size >= referencesKept) references.clear()
  references.set(publicToken, customerReference)
  return customerReference === reference
}
