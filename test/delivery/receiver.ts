/**
 * An endpoint of a client system, on a free port of loopback: keeps what it was sent, and answers as a
 * test wants.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { Webhook } from 'standardwebhooks'
import { atEndOfFile } from '../support/end-of-file.ts'

export type Received = {
  id: string
  headers: Readonly<Record<string, string>>
  body: string
  message: { type: string; timestamp: string; data: Record<string, unknown> }
  at: number
}

/** What to answer: a status, or whatever the function does with the response. */
export type Behaviour = (
  received: Received,
  response: ServerResponse,
) => number | undefined | Promise<number | undefined>

export type Receiver = {
  url: string
  port: number
  received: Received[]
  answer: Behaviour
  close: () => Promise<void>
}

const open = new Set<Receiver>()
atEndOfFile(() => Promise.all([...open].map((receiver) => receiver.close())))

export const openReceiver = async (answer: Behaviour = () => 204, port = 0): Promise<Receiver> => {
  const server = createServer(async (request, response) => {
    const body = await readBody(request)
    const received = toReceived(request, body)
    receiver.received.push(received)
    const status = await receiver.answer(received, response)
    if (status !== undefined) response.writeHead(status).end()
  })
  await once(server.listen(port, '127.0.0.1'), 'listening')
  const address = server.address()
  const bound = typeof address === 'object' ? (address?.port ?? 0) : 0
  const receiver: Receiver = {
    url: `http://127.0.0.1:${bound}/hook`,
    port: bound,
    received: [],
    answer,
    close: async () => {
      open.delete(receiver)
      server.closeAllConnections()
      if (server.listening) await once(server.close(), 'close')
    },
  }
  open.add(receiver)
  return receiver
}

const readBody = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

const toReceived = ({ headers }: IncomingMessage, body: string): Received => ({
  id: String(headers['webhook-id']),
  headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, `${value}`])),
  body,
  message: JSON.parse(body),
  at: performance.now(),
})

/** Whether the published package finds the signature to be of this secret. */
export const isSignedWith = (secret: string, { body, headers }: Received): boolean => {
  try {
    new Webhook(secret).verify(body, { ...headers })
    return true
  } catch {
    return false
  }
}

/** Waits until something holds; fails after a while. */
export const until = async (
  holds: () => boolean | Promise<boolean>,
  timeoutMs = 15_000,
): Promise<void> => {
  const endMs = performance.now() + timeoutMs
  while (!(await holds())) {
    if (performance.now() > endMs) throw new Error(`It did not come to be: ${holds}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
