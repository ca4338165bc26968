import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { LogWitness } from './witness.ts'

/** The maximum size of a checkpoint with the longest proof and the maximum number of signatures. */
const longestBody = 65_536
const requestMs = 10_000
const connections = 256

/** Serves a witness over HTTP; on the internet, behind a proxy with TLS. */
export function createWitnessServer(
  witness: LogWitness,
  onFailure: (error: unknown) => void,
): Server {
  const server = createServer(async (request, response) => {
    const send = (status: number, text: string): void => {
      const type = status === 409 ? 'text/x.tlog.size' : 'text/plain; charset=utf-8'
      response.writeHead(status, { 'content-type': type }).end(text)
    }
    try {
      const { pathname } = new URL(request.url ?? '/', 'http://witness.invalid')
      if (pathname !== '/add-checkpoint') send(404, 'The only path is /add-checkpoint.\n')
      else if (request.method !== 'POST') send(405, 'It takes POST.\n')
      else {
        const body = await readBody(request)
        const { status, text } =
          body === null
            ? { status: 413, text: 'The request exceeds the limit.\n' }
            : await witness.addCheckpoint(body)
        send(status, text)
      }
    } catch (error) {
      onFailure(error)
      send(500, 'The request could not be processed.\n')
    }
  })
  server.requestTimeout = requestMs
  server.maxConnections = connections
  return server
}

/** Null when it is too long. */
async function readBody(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of request) {
    length += chunk.length
    if (length > longestBody) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}
