import { randomUUID } from 'node:crypto'
import { type ClientRequest, request } from 'node:http'
import { askToken, type Program } from '../../support/process.ts'
import { newCard } from '../../support/service.ts'

/**
 * A client system: it makes events through the API, whatever becomes of the server meanwhile, and
 * reads its feed, by pages or live.
 */

/** The server to call at this moment. It may be another one a moment later. */
export type CurrentProgram = () => Program

export type FeedEvent = {
  id: string
  type: string
  data: { publicToken: string; sequence: number }
}

const workers = 16

/** One name for a server that comes back on another port: tokens outlive it. */
export const baseUrl = 'http://pinfold.test'

export const tokenOf = ({ baseUrl: address, sandbox }: Program): Promise<string> =>
  askToken({ ...sandbox, tokenEndpoint: `${address}/oauth/token` })

/**
 * Makes so many events, each card's in turn; every call is repeated under its key until it is done.
 */
export const produceEvents = async (
  current: CurrentProgram,
  { cards, perCard }: { cards: number; perCard: number },
): Promise<void> => {
  const token = await tokenOf(current())
  let left = cards
  const work = async () => {
    while (left > 0) {
      left -= 1
      const { publicToken } = await insist(current, token, '/cards', newCard())
      for (let event = 1; event < perCard; event += 1) {
        await insist(current, token, `/card-pin/${publicToken}/pin/unblock`)
      }
    }
  }
  await Promise.all(Array.from({ length: workers }, work))
}

export const insist = async (
  current: CurrentProgram,
  token: string,
  path: string,
  body?: object,
): Promise<{ publicToken: string; webhookId: string; secret: string }> => {
  const headers = { 'idempotency-key': randomUUID() }
  for (let attempt = 0; attempt < 2_400; attempt += 1) {
    const answer = await current()
      .call('POST', path, { token, headers, ...(body && { body }) })
      .catch(() => null)
    if (answer && answer.status < 300) return answer.json
    if (answer && answer.status < 500 && answer.status !== 409) throw new Error(answer.text)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error('The server did not come back.')
}

/** Every event that the server tells of, or those after one, in the order of its feed. */
export const readFeed = async (
  program: Program,
  least: number,
  begin?: FeedEvent,
): Promise<FeedEvent[]> => {
  const feed: FeedEvent[] = []
  let token: string | null = null
  for (let tries = 0; tries < 2_400; ) {
    // A server whose database is away answers 503, here as with the feed.
    token ??= await tokenOf(program).catch(() => null)
    const after = feed.at(-1) ?? begin
    const query = after ? `?after=${after.id}` : ''
    const page = token === null ? null : await program.call('GET', `/events${query}`, { token })
    const told: FeedEvent[] = page?.status === 200 ? page.json : []
    feed.push(...told)
    if (told.length > 0) continue
    if (page?.status === 200 && feed.length >= least) return feed
    tries += 1
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`Only ${feed.length} of ${least} events are told.`)
}

/** A reader of the live feed, over a real connection, as a client system has one. */
export type LiveReader = {
  status: number
  contentType: string
  /** Ids of the events that came, in order. */
  ids: string[]
  /** What a client would send as `Last-Event-ID`. */
  lastId: () => string | null
  hasEnded: () => boolean
  /** Breaks off without a word. */
  kill: () => void
}

export type LiveOptions = {
  token: string
  lastEventId?: string | null
  query?: string
  /** The name that the server answers to. */
  host?: string
}

export const openLiveReader = (
  port: number,
  { host = '127.0.0.1:8080', lastEventId, query = '', token }: LiveOptions,
): Promise<LiveReader> =>
  new Promise((resolve, reject) => {
    const asked: ClientRequest = request({
      host: '127.0.0.1',
      port,
      path: `/thr/processor/events${query}`,
      headers: {
        host,
        authorization: `Bearer ${token}`,
        accept: 'text/event-stream',
        ...(lastEventId && { 'last-event-id': lastEventId }),
      },
    })
    asked.once('error', reject)
    asked.once('response', (response) => {
      const ids: string[] = []
      let lastId: string | null = null
      let hasEnded = false
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => {
        const blocks = (text + chunk).split('\n\n')
        text = blocks.pop() ?? ''
        for (const block of blocks) {
          lastId = /^id: (.+)$/m.exec(block)?.[1] ?? lastId
          const data = /^data: (.+)$/m.exec(block)?.[1]
          if (data) ids.push(JSON.parse(data).id)
        }
      })
      response.once('close', () => {
        hasEnded = true
      })
      response.on('error', () => undefined)
      asked.on('error', () => undefined)
      resolve({
        status: response.statusCode ?? 0,
        contentType: response.headers['content-type'] ?? '',
        ids,
        lastId: () => lastId,
        hasEnded: () => hasEnded,
        kill: () => asked.destroy(),
      })
    })
    asked.end()
  })
