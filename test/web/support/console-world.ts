import { screens } from '../../../src/listeners/console/screens.ts'
import { type Console, issueDeclinedCard } from './console.ts'

/** Markup that does something wherever it is not shown as the text that it is. */
export const hostile = '<img src=x onerror=a()>'

/** What there is to see: something on every screen, and hostile text wherever somebody can write any. */
export type World = {
  card: Awaited<ReturnType<typeof issueDeclinedCard>>
  /** Where each screen shows it, by the screen's path. */
  addresses: ReadonlyMap<string, string>
}

export const openWorld = async (service: Console): Promise<World> => {
  const administer = async (method: string, path: string, body: object) => {
    const answer = await service.call(method, `/${path}`, {
      as: 'admin',
      listener: 'private',
      body,
    })
    if (answer.status >= 300) throw new Error(`${path}: ${answer.text}`)
    return answer.json
  }
  await administer('PATCH', '/products/1003', { productName: hostile })
  await administer('PATCH', '/clients/demo-client', { clientName: hostile })
  const card = await issueDeclinedCard(service, hostile, { cardProduct: 1003 })
  const changed = await service.call('PUT', `/cards/${card.publicToken}/status`, {
    body: { cardStatusCode: '62', description: hostile, updatedBy: hostile },
  })
  if (changed.status !== 204) throw new Error(changed.text)
  const [authorization] = await administer('POST', '/cards/search', {
    authorizationReference: card.reference,
  })
  const params: Readonly<Record<string, string>> = {
    publicToken: card.publicToken,
    authorizationId: authorization.authorization.authorizationId,
  }
  const addressOf = (path: string) =>
    path.replaceAll(/:(\w+)/g, (_, name: string) => {
      const value = params[name]
      if (value === undefined) throw new Error(`There is nothing to see at ${path}.`)
      return value
    })
  return { card, addresses: new Map(screens.map(({ path }) => [path, addressOf(path)])) }
}
