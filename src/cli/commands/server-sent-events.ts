/** One message of a stream (HTML Standard, section 9.2). */
export interface ServerSentEvent {
  /** Where to go on after it; null where it does not say. */
  readonly id: string | null
  /** Null where it only says where the stream stands. */
  readonly data: string | null
}

/** The messages of a stream as they come. */
export async function* readServerSentEvents(
  body: AsyncIterable<Uint8Array>,
): AsyncGenerator<ServerSentEvent> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true })
    const blocks = text.split(/\r?\n\r?\n/)
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      yield parseBlock(block)
    }
  }
}

function parseBlock(block: string): ServerSentEvent {
  const fields = block.split(/\r?\n/).map((line) => /^(\w+): ?(.*)$/.exec(line))
  const valuesOf = (name: string) =>
    fields.flatMap((field) => (field?.[1] === name ? [field[2] ?? ''] : []))
  const data = valuesOf('data')
  return { id: valuesOf('id').at(-1) ?? null, data: data.length === 0 ? null : data.join('\n') }
}
