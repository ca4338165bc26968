import type { IncomingMessage } from 'node:http'

/** Bytes of an answer that are kept. */
const keptBytes = 256
/** Bytes that are read, so that the connection can be used again. */
const readBytes = 16_384

/**
 * Reads an answer to its end, or as much of it as is worth reading.
 * @returns the first bytes as text where the answer says that it is text or JSON, else null.
 */
export async function readAnswer(
  response: IncomingMessage,
  signal: AbortSignal,
): Promise<string | null> {
  const kept: Buffer[] = []
  let lengthBytes = 0
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      if (lengthBytes < keptBytes) kept.push(chunk.subarray(0, keptBytes - lengthBytes))
      lengthBytes += chunk.length
      if (lengthBytes > readBytes || signal.aborted) break
    }
  } catch {
    // The status has been told: how the rest of an answer ends changes nothing.
  } finally {
    if (!response.complete) response.destroy()
  }
  return isText(response) && lengthBytes > 0 ? printable(Buffer.concat(kept)) : null
}

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
