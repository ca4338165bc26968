/** A body with too many bytes. */
export class TooLong extends Error {}

/**
 * Reads an answer up to a limit and does not wait for the rest.
 * @throws TooLong
 */
export async function readBody(
  body: ReadableStream<Uint8Array> | null,
  mostBytes: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  const reader = body?.getReader()
  let length = 0
  try {
    for (;;) {
      const next = await reader?.read()
      if (next?.value === undefined) return new Uint8Array(Buffer.concat(chunks))
      length += next.value.byteLength
      if (length > mostBytes) throw new TooLong(`The body exceeds the limit of ${mostBytes} bytes.`)
      chunks.push(next.value)
    }
  } finally {
    void reader?.cancel().catch(() => undefined)
  }
}
