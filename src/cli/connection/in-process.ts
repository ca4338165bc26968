import { keyJobs, startJobs } from '../../service/background.ts'
import type { Config } from '../../service/config/config.ts'
import { openDatabasesAsIs } from '../../service/database.ts'
import { createLog } from '../../service/log.ts'
import { createService, type Service } from '../../service/service.ts'
import { type ClientRole, type NamedClient, readCredentials } from './credentials.ts'
import { createRequests, type ServiceConnection } from './requests.ts'

/** Opens the service in this process on the existing database; calls use inject. */
export async function openInProcess(
  config: Config,
  role: ClientRole,
  named: NamedClient,
): Promise<ServiceConnection> {
  const log = createLog('silent')
  const databases = await openDatabasesAsIs(config, log)
  const service = await createService(config, databases, log).catch(async (error: unknown) => {
    await databases.close()
    throw error
  })
  const following = startJobs(keyJobs(service.keys), log)
  const close = async () => {
    await following.stop()
    await Promise.all([service.publicServer.close(), service.privateServer.close()])
    await databases.close()
  }
  try {
    const { ask, readAll, readBytes } = createRequests(
      {
        ...addresses,
        issuer: config.baseUrl,
        fetch: injecting(service, new URL(config.baseUrl).host),
        // No network is involved: a long call, such as making keys, is at work.
        timeoutMs: 2 ** 31 - 1,
      },
      role,
      await readCredentials(role, named, service.sandbox),
    )
    return { ask, readAll, readBytes, open: null, base: `/thr/${config.processorPath}`, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Names of the listeners within this process; they are never resolved. */
const addresses = { baseUrl: 'http://public.invalid', privateUrl: 'http://private.invalid' }

/** Returns a `fetch` that sends requests to the servers without a socket. */
const injecting =
  ({ privateServer, publicServer }: Service, host: string): typeof fetch =>
  async (input, { body, headers, method } = {}) => {
    const { origin, pathname, search } = new URL(String(input))
    const app = origin === addresses.baseUrl ? publicServer : privateServer
    const answer = await app.inject({
      method: method as 'GET',
      url: pathname + search,
      headers: { host, ...(headers as Record<string, string>) },
      ...(body && { payload: String(body) }),
    })
    const { rawPayload, statusCode: status } = answer
    const given = Object.entries(answer.headers).map(([name, value]) => [name, String(value)])
    return new Response(rawPayload.length === 0 ? null : new Uint8Array(rawPayload), {
      status,
      headers: Object.fromEntries(given),
    })
  }
