import { once } from 'node:events'
import { createServer } from 'node:net'

/** Two ports of loopback that nobody listens on. */
export const freePorts = async (): Promise<readonly [number, number]> => {
  const servers = [createServer(), createServer()] as const
  const [first, second] = await Promise.all(
    servers.map(async (server) => {
      await once(server.listen(0, '127.0.0.1'), 'listening')
      const address = server.address()
      return typeof address === 'object' ? (address?.port ?? 0) : 0
    }),
  )
  await Promise.all(servers.map((server) => once(server.close(), 'close')))
  return [first ?? 0, second ?? 0]
}
