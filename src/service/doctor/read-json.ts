import { request as requestInClear } from 'node:http'
import { request as requestByTls } from 'node:https'
import { text } from 'node:stream/consumers'

const answerTimeoutMs = 3_000

/** A JSON document and the status that it came with; null where nothing of the kind came. */
export interface JsonAnswer {
  readonly status: number
  readonly json: Readonly<Record<string, unknown>>
}

/**
 * Asks a program on this machine what it is. Nothing secret is sent, so its certificate, which is for
 * another name than this address, need not be held against anybody.
 */
export const readJson = (url: string): Promise<JsonAnswer | null> =>
  new Promise((resolve) => {
    const isSafe = url.startsWith('https:')
    const options = { signal: AbortSignal.timeout(answerTimeoutMs), agent: false as const }
    const ask = isSafe
      ? requestByTls(url, { ...options, rejectUnauthorized: false })
      : requestInClear(url, options)
    ask.once('error', () => resolve(null))
    ask.once('response', (answer) => {
      text(answer)
        .then((body) => resolve({ status: answer.statusCode ?? 0, json: Object(JSON.parse(body)) }))
        .catch(() => resolve(null))
    })
    ask.end()
  })
