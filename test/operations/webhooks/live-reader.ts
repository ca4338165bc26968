import { type ClientRequest, request } from 'node:http'

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
