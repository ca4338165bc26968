import type { IncomingMessage } from 'node:http'
import type { GuardedRequest } from './guarded-request.ts'

const timeoutMs = 5_000
const lengthLimitBytes = 256 * 1_024

/**
 * A JSON document from an address: 200 and no redirect, within 5 s and 256 KiB.
 * @throws Error
 */
export type FetchJson = (address: URL) => Promise<unknown>

/** Reads documents by guarded requests. @param waitMs for the whole of one. */
export const jsonFetcher =
  (request: GuardedRequest, waitMs = timeoutMs): FetchJson =>
  async (address) => {
    const signal = AbortSignal.timeout(waitMs)
    const response = await request(address, {
      method: 'GET',
      headers: { accept: 'application/json, application/jwk-set+json' },
      signal,
    }).catch((cause: unknown) => {
      const reason = cause instanceof Error ? cause.message : 'no answer'
      throw new Error(`${address} was not read: ${reason}`, { cause })
    })
    try {
      if (response.statusCode !== 200) throw new Error(`${address} answered ${response.statusCode}`)
      return JSON.parse(await readText(response, address))
    } finally {
      if (!response.complete) response.destroy()
    }
  }

async function readText(response: IncomingMessage, address: URL): Promise<string> {
  const chunks: Buffer[] = []
  let lengthBytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    lengthBytes += chunk.length
    if (lengthBytes > lengthLimitBytes) throw new Error(`${address} answered too much`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
