import { once } from 'node:events'
import { createServer } from 'node:net'
import type { SandboxFile } from '../../src/sandbox/sandbox-file.ts'
import { keepRsaKeys } from '../operations/card-data/service.ts'
import {
  type DeliveryService,
  openDeliveryService,
} from '../operations/webhooks/delivery-service.ts'

/** The whole service in this process, at an address that it calls its own, with all its keys. */

export type ServedService = DeliveryService & { sandbox: SandboxFile }

export const openServedService = async (): Promise<ServedService> => {
  const port = await freePort()
  const service = await openDeliveryService({ env: { BASE_URL: `http://127.0.0.1:${port}` } })
  try {
    await service.publicServer.listen({ port, host: '127.0.0.1' })
  } catch (error) {
    // Between the choice of a port and its use another process may have taken it.
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    return openServedService()
  }
  await keepRsaKeys(service)
  const { sandbox } = service
  if (!sandbox) throw new Error('This is no sandbox.')
  return { ...service, sandbox }
}

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  await once(server.close(), 'close')
  return typeof address === 'object' ? (address?.port ?? 0) : 0
}
