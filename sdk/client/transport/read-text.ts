import { CallFailed } from '../errors/call-failed.ts'

/** Sixteen times what the service's longest page takes. */
const longestBytes = 8 * 1_048_576

/** The whole text of an answer. @throws CallFailed `unexpected_answer` for one that is too long. */
export async function readText({ body, status }: Response): Promise<string> {
  if (!body) return ''
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return text + decoder.decode()
      bytes += value.byteLength
      if (bytes > longestBytes) throw new CallFailed('unexpected_answer', { status })
      text += decoder.decode(value, { stream: true })
    }
  } finally {
    // What was read to its end has nothing to cancel; the rest is not waited for.
    void reader.cancel().catch(() => undefined)
  }
}
