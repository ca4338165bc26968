import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { atEndOfFile } from './end-of-file.ts'

/**
 * The decision endpoint of a client, on a free port of loopback. It records what it is sent, and
 * answers as a test says.
 */

export type ReceivedDecision = {
  headers: IncomingHttpHeaders
  /** The exact bytes. */
  bytes: Buffer
  // biome-ignore lint/suspicious/noExplicitAny: a test reads the members that it expects
  body: any
  /** By the clock of `performance.now()`. */
  atMs: number
}

/**
 * What to answer: a status, or the members of a JSON body with status 200. A behaviour that returns
 * nothing answers by the response itself, or never.
 */
export type DecisionBehaviour = (
  received: ReceivedDecision,
  response: ServerResponse,
) => number | object | undefined | Promise<number | object | undefined>

export type TestDecisionEndpoint = {
  url: string
  port: number
  received: ReceivedDecision[]
  /** Connections since the start. */
  connections: () => number
  /** May be replaced at any time. */
  answer: DecisionBehaviour
  close: () => Promise<void>
}

const open = new Set<TestDecisionEndpoint>()
atEndOfFile(() => Promise.all([...open].map((endpoint) => endpoint.close())))

export const openDecisionEndpoint = async (
  answer: DecisionBehaviour = approve,
  port = 0,
): Promise<TestDecisionEndpoint> => {
  let connections = 0
  const server = createServer(async (request, response) => {
    const atMs = performance.now()
    const chunks: Buffer[] = []
    request.on('error', () => undefined)
    response.on('error', () => undefined)
    for await (const chunk of request) chunks.push(chunk)
    const bytes = Buffer.concat(chunks)
    const body = JSON.parse(bytes.toString())
    const received = { headers: request.headers, bytes, body, atMs }
    endpoint.received.push(received)
    const said = await endpoint.answer(received, response)
    if (typeof said === 'number') response.writeHead(said).end()
    else if (said !== undefined) answerJson(response, JSON.stringify(said))
  })
  // The asking side closes idle connections first.
  server.keepAliveTimeout = 60_000
  server.on('connection', () => {
    connections += 1
  })
  await once(server.listen(port, '127.0.0.1'), 'listening')
  const { port: bound } = server.address() as AddressInfo
  const endpoint: TestDecisionEndpoint = {
    url: `http://127.0.0.1:${bound}/decide`,
    port: bound,
    received: [],
    connections: () => connections,
    answer,
    close: async () => {
      open.delete(endpoint)
      server.closeAllConnections()
      if (server.listening) await once(server.close(), 'close')
    },
  }
  open.add(endpoint)
  return endpoint
}

const answerJson = (response: ServerResponse, text: string): void => {
  response.writeHead(200, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  })
  response.end(text)
}

export const approve: DecisionBehaviour = () => ({ decision: 'approve' })

/** Takes the request and never answers. */
export const hang: DecisionBehaviour = () => undefined

/** Answers after a time. */
export const after =
  (milliseconds: number, answer: DecisionBehaviour = approve): DecisionBehaviour =>
  async (received, response) => {
    await sleep(milliseconds)
    return answer(received, response)
  }

/** Sends an answer byte by byte. */
export const trickle =
  (everyMs: number, text = '{"decision":"approve"}'): DecisionBehaviour =>
  async (_received, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    for (const character of text) {
      if (response.destroyed) return undefined
      response.write(character)
      await sleep(everyMs)
    }
    response.end()
    return undefined
  }

/** Cuts the connection before any byte of an answer. */
export const cut: DecisionBehaviour = (_received, { socket }) => {
  socket?.destroy()
  return undefined
}

/** Sends these bytes on the connection, in place of an HTTP answer, and maybe cuts it then. */
export const raw =
  (
    bytes: string | Uint8Array,
    then: (socket: Socket) => void = () => undefined,
  ): DecisionBehaviour =>
  (_received, { socket }) => {
    socket?.write(bytes, () => then(socket))
    return undefined
  }

/** Answers by this text and type. */
export const text =
  (body: string | Buffer, contentType = 'application/json', status = 200): DecisionBehaviour =>
  (_received, response) => {
    response.writeHead(status, { 'content-type': contentType }).end(body)
    return undefined
  }

/** Whether the published package finds an HMAC signature of this secret. */
export const isDecisionSigned = (secret: string, { bytes, headers }: ReceivedDecision): boolean => {
  try {
    const flat = Object.entries(headers).map(([name, value]) => [name, String(value)])
    new Webhook(secret).verify(bytes, Object.fromEntries(flat))
    return true
  } catch {
    return false
  }
}
