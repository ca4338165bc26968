import { startKeyKeeping } from '../../service/background.ts'
import type { Config } from '../../service/config/config.ts'
import { openDatabasesAsIs } from '../../service/database.ts'
import { createLog } from '../../service/log.ts'
import { createService, type Service } from '../../service/service.ts'
import type { Reached } from './connection.ts'
import { type NamedClient, type Role, tokenRequest } from './credentials.ts'
import { asking, type Send, tokensOf } from './requests.ts'

/** The service in this process, on the same database as it is, called by inject. */
export async function openInProcess(
  config: Config,
  role: Role,
  named: NamedClient,
): Promise<Reached> {
  const log = createLog('silent')
  const databases = await openDatabasesAsIs(config, log)
  const service = await createService(config, databases, log).catch(async (error: unknown) => {
    await databases.close()
    throw error
  })
  const keeping = startKeyKeeping(service.keys, log)
  const send = injecting(service, config)
  const tokens = tokensOf(send, () => tokenRequest(config.baseUrl, role, named, service.sandbox))
  return {
    ...asking(send, role, tokens),
    base: `/thr/${config.processorPath}`,
    live: null,
    async close() {
      await keeping.stop()
      await Promise.all([service.publicServer.close(), service.privateServer.close()])
      await databases.close()
    },
  }
}

const injecting =
  ({ privateServer, publicServer }: Service, { baseUrl }: Config): Send =>
  async (listener, method, path, headers, payload) => {
    const app = listener === 'public' ? publicServer : privateServer
    const answer = await app.inject({
      method: method as 'GET',
      url: path,
      headers: { host: new URL(baseUrl).host, ...headers },
      ...(payload !== undefined && { payload }),
    })
    const link = answer.headers.link
    return { status: answer.statusCode, text: answer.payload, link: link ? String(link) : null }
  }
