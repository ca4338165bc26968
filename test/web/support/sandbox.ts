import { once } from 'node:events'
import { createServer } from 'node:net'
import type { SandboxFile } from '../../../src/sandbox/sandbox-file.ts'
import type { Database } from '../../../src/storage/engine/database.ts'
import { openCardDataService } from '../../operations/card-data/service.ts'
import { openPostgres } from '../../support/postgres.ts'
import { openEmbedded, openServerDatabase } from '../../support/service.ts'

/** A sandbox that listens, with the keys of card data in it: drawing them would take seconds. */

export type Sandbox = {
  baseUrl: string
  /** What `sandbox.json` would tell. */
  file: SandboxFile
}

/** @param baseUrl where it is reached, if not at its own port. */
export const startSandbox = async (
  options: { port?: number; baseUrl?: string } = {},
): Promise<Sandbox> => {
  const port = options.port ?? (await freePort())
  const baseUrl = options.baseUrl ?? `http://127.0.0.1:${port}`
  const database = await openDatabase()
  const service = await openCardDataService({
    database,
    // The port that injected calls name is one of its own, too.
    env: {
      PORT: String(port),
      PRIVATE_PORT: '8080',
      BASE_URL: baseUrl,
      REVEALS_PER_CARD_HOUR: '1000',
    },
  })
  await service.publicServer.listen({ host: '127.0.0.1', port })
  if (!service.sandbox) throw new Error('This is no sandbox.')
  return { baseUrl, file: service.sandbox }
}

/** On the server, where there is one: the embedded database would share this process with the service. */
const openDatabase = async (): Promise<Database> => {
  const postgres = await openPostgres()
  return postgres.leftOut ? openEmbedded() : (await openServerDatabase(postgres)).database
}

/** A port of this machine that nobody listens on. */
export const freePort = async (): Promise<number> => {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  await once(server.close(), 'close')
  if (typeof address !== 'object' || !address) throw new Error('No port was given.')
  return address.port
}
