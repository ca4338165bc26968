import type { Config, Listener } from '../config.ts'
import { startDelivery } from '../delivery/start-delivery.ts'
import type { Connections } from '../http/connections.ts'
import { writeSandboxFile } from '../sandbox/sandbox-file.ts'
import { freeEveryLease } from '../storage/leases.ts'
import { startKeyKeeping } from './key-keeping.ts'
import { createLog } from './log.ts'
import { startMakingKeys } from './making-keys.ts'
import { openDatabases } from './open-database.ts'
import { createService, type Service } from './service.ts'
import { startSweeping } from './sweeping.ts'
import { startTlsRefresh } from './tls.ts'
import { welcome } from './welcome.ts'

/** How long a request that runs may take to finish once the service is told to stop. */
const finishTimeoutMs = 3_000

/** A service that listens. */
export interface RunningService {
  /** What a person is to read now. */
  readonly welcome: string
  /** Finishes what runs, lets go of the database, and resolves. */
  stop(): Promise<void>
}

/** Opens everything and listens on both listeners. */
export async function runService(config: Config): Promise<RunningService> {
  const log = createLog(config.logLevel)
  for (const { acceptance, found } of config.accepted) {
    log.warn({ accepted: acceptance }, `${acceptance} is yes: ${found}`)
  }
  const databases = await openDatabases(config, log)
  const { background: database } = databases
  try {
    const service = await createService(config, databases, log)
    // Before anybody can find the service ready: whoever does will look into the file.
    const file = service.sandbox && (await writeSandboxFile(config.dataDir, service.sandbox))
    await listen(service, config)
    // The embedded database has one process: whatever is held, a process that is gone held.
    if (config.databaseUrl === null) await freeEveryLease(database)
    const delivery = startDelivery(service.delivering)
    const sweeping = startSweeping({ ...service.issuing, database }, log)
    const keyKeeping = startKeyKeeping(service.keys, log)
    const makingKeys = startMakingKeys({ database, hsm: service.issuing.hsm, log })
    const tlsRefresh = startTlsRefresh(service.tls, config.tlsRefreshMs)
    return {
      welcome: welcome(config, file),
      async stop() {
        tlsRefresh.stop()
        service.stopping.abort()
        // All at once: what works through a backlog would take the time that requests have to finish.
        await Promise.all([
          finish(service.publicServer, service.connections.public),
          finish(service.privateServer, service.connections.private),
          delivery.stop(),
          sweeping.stop(),
          keyKeeping.stop(),
          makingKeys.stop(),
        ])
        await databases.close()
      },
    }
  } catch (error) {
    await databases.close()
    throw error
  }
}

async function listen({ privateServer, publicServer }: Service, config: Config): Promise<void> {
  try {
    await privateServer.listen(addressOf(config.privateListener))
    await publicServer.listen(addressOf(config.publicListener))
  } catch (error) {
    await Promise.all([privateServer.close(), publicServer.close()])
    throw error
  }
}

const addressOf = ({ host, port }: Listener) => ({ host, port })

/** Whoever is connected and has asked for nothing yet must not keep the service from stopping. */
async function finish(server: Service['publicServer'], connections: Connections): Promise<void> {
  const timer = setTimeout(() => connections.destroyAll(), finishTimeoutMs)
  await server.close()
  clearTimeout(timer)
}
