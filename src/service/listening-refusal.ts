import { once } from 'node:events'
import { createServer } from 'node:net'

/** @returns the error code if this process cannot listen at an address, otherwise null. */
export async function findListeningRefusal(host: string, port: number): Promise<string | null> {
  const server = createServer()
  try {
    await once(server.listen({ host, port, exclusive: true }), 'listening')
    server.close()
    await once(server, 'close')
    return null
  } catch (error) {
    if (error instanceof Error && 'code' in error) return String(error.code)
    return error instanceof Error ? error.message : String(error)
  }
}
