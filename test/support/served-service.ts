import type { AddressInfo } from 'node:net'
import type { SandboxFile } from '../../src/sandbox/sandbox-file.ts'
import { keepRsaKeys } from '../operations/card-data/service.ts'
import {
  type DeliveryService,
  openDeliveryService,
} from '../operations/webhooks/delivery-service.ts'
import { type Authority, writeIdentity, writeWhole } from './certificates.ts'
import { freePorts } from './free-ports.ts'
import { makeFolder } from './process.ts'
import { openTestService, type TestService } from './service.ts'

/** The whole service in this process, at addresses that it calls its own, with all its keys. */

export type ServedService = DeliveryService & { sandbox: SandboxFile }

export const openServedService = async (
  env: Readonly<Record<string, string>> = {},
): Promise<ServedService> => {
  const [port, privatePort] = await freePorts()
  const service = await openDeliveryService({
    env: {
      BASE_URL: `http://127.0.0.1:${port}`,
      PRIVATE_BASE_URL: `http://127.0.0.1:${privatePort}`,
      // One card in ten thousand shows the PIN of a written text, and refuses it: these cards are
      // known.
      SANDBOX_SEED: 'served',
      ...env,
    },
  })
  try {
    await service.publicServer.listen({ port, host: '127.0.0.1' })
    await service.privateServer.listen({ port: privatePort, host: '127.0.0.1' })
  } catch (error) {
    // Between the choice of a port and its use another process may have taken it.
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    return openServedService(env)
  }
  await keepRsaKeys(service)
  const { sandbox } = service
  if (!sandbox) throw new Error('This is no sandbox.')
  return { ...service, sandbox }
}

/** The service in this process, listening with TLS on free ports of loopback. */

export type TlsTestService = TestService & {
  /** Where `server.crt`, `server.key` and `authority.crt` lie. */
  folder: string
}

/** What the service is configured with: the same files for both listeners. */
export const tlsEnvironment = async (
  folder: string,
  authority: Authority,
  name = 'cards.test',
): Promise<Readonly<Record<string, string>>> => {
  const server = await writeIdentity(folder, 'server', await authority.issue(name))
  const clientCa = await writeWhole(folder, 'authority.crt', authority.pem)
  return {
    TLS_CERT_FILE: server.certFile,
    TLS_KEY_FILE: server.keyFile,
    TLS_CLIENT_CA_FILE: clientCa,
    PRIVATE_TLS_CERT_FILE: server.certFile,
    PRIVATE_TLS_KEY_FILE: server.keyFile,
    PRIVATE_TLS_CLIENT_CA_FILE: clientCa,
  }
}

/** Clients call it `https://cards.test`. */
export const openTlsService = async (
  authority: Authority,
  env: Readonly<Record<string, string>>,
): Promise<TlsTestService> => {
  const folder = await makeFolder()
  const files = await tlsEnvironment(folder, authority)
  const service = await openTestService({
    env: { BASE_URL: 'https://cards.test', ...files, ...env },
  })
  await service.publicServer.listen({ host: '127.0.0.1', port: 0 })
  await service.privateServer.listen({ host: '127.0.0.1', port: 0 })
  return { ...service, folder }
}

/** The ports that it listens on. */
export const findPorts = ({ privateServer, publicServer }: TestService) => ({
  public: (publicServer.server.address() as AddressInfo).port,
  private: (privateServer.server.address() as AddressInfo).port,
})
