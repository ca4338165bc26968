import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { Webhook } from 'standardwebhooks'
import { atEndOfFile } from '../../support/end-of-file.ts'
import type { FeedEvent } from './client-system.ts'

/**
 * An endpoint of a client system, on a free port of loopback: keeps what it was sent, and answers
 * as a test wants.
 */

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

/** What a receiver got, held against what was told. */
export type Journal = {
  /** Notes what came in, and whether it was accepted. */
  note: (received: Received, isAccepted: boolean) => void
  acceptedCount: () => number
  /** Each event at least once, each card's in order, nothing that was not told. */
  check: (told: readonly FeedEvent[]) => { received: number; accepted: number; again: number }
}

export const openJournal = (): Journal => {
  const notes: { id: string; card: string; sequence: number; isAccepted: boolean }[] = []
  const accepted = new Set<string>()
  return {
    note: ({ id, message }, isAccepted) => {
      if (isAccepted) accepted.add(id)
      const { publicToken, sequence } = message.data
      notes.push({ id, card: String(publicToken), sequence: Number(sequence), isAccepted })
    },
    acceptedCount: () => accepted.size,
    check: (told) => {
      const known = new Map(
        told.map(({ data, id }) => [id, `${data.publicToken} ${data.sequence}`]),
      )
      const received = new Map<string, number>()
      for (const { card, id, isAccepted, sequence } of notes) {
        assert.equal(known.get(id), `${card} ${sequence}`, 'only what was told')
        const before = received.get(card) ?? 0
        assert.ok(sequence <= before + 1, `${card}: ${sequence} came before ${before + 1}`)
        if (isAccepted) received.set(card, Math.max(before, sequence))
      }
      assert.equal(accepted.size, told.length, 'none is lost')
      const acceptedNotes = notes.filter(({ isAccepted }) => isAccepted).length
      return {
        received: notes.length,
        accepted: acceptedNotes,
        again: acceptedNotes - accepted.size,
      }
    },
  }
}
