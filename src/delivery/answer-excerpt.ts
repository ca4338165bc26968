import type { IncomingMessage } from 'node:http'
import { holdsPan } from '../domain/pan.ts'

/** Bytes of an answer that are kept. */
const keptBytes = 256
/** Bytes that are looked at: a card number that would be cut in the middle must be seen whole. */
const seenBytes = 320
/** Bytes that are read, so that the connection can be used again. */
const readBytes = 16_384

/**
 * Reads an answer to its end, or as much of it as is worth reading.
 * @returns the first bytes as text where the answer says that it is text or JSON, else null. Text that may
 *   hold a card number is not kept.
 */
export async function readAnswer(
  response: IncomingMessage,
  signal: AbortSignal,
): Promise<string | null> {
  const seen: Buffer[] = []
  let lengthBytes = 0
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      if (lengthBytes < seenBytes) seen.push(chunk.subarray(0, seenBytes - lengthBytes))
      lengthBytes += chunk.length
      if (lengthBytes > readBytes || signal.aborted) break
    }
  } catch {
    // The status has been told: how the rest of an answer ends changes nothing.
  } finally {
    if (!response.complete) response.destroy()
  }
  return isText(response) && lengthBytes > 0 ? excerptOf(Buffer.concat(seen)) : null
}

const excerptOf = (seen: Buffer): string =>
  holdsPan(printable(seen)) ? mayHoldPan : printable(seen.subarray(0, keptBytes))

const mayHoldPan = 'The answer is not kept: it may hold a card number.'

const isText = ({ headers }: IncomingMessage): boolean =>
  /^\s*(text\/|application\/([\w.-]+\+)?json)/i.test(headers['content-type'] ?? '') &&
  (headers['content-encoding'] ?? 'identity') === 'identity'

/** One line, without what a terminal or a database would stumble over. */
const printable = (bytes: Buffer): string =>
  bytes
    .toString('utf8')
    .replaceAll('\uFFFD', '')
    .replaceAll(/[\p{Cc}\p{Cs}]+/gu, ' ')
    .trim()
