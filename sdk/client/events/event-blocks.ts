import { CallFailed } from '../errors/call-failed.ts'

/** One block of an event stream (HTML standard, section 9.2). Unset: the block did not say. */
export interface EventBlock {
  readonly id: string | undefined
  readonly data: string | undefined
}

/** Characters; an event takes less than a thousand. */
const longestBlock = 1_048_576

/**
 * The blocks of a stream as they come, also those without data: their id counts.
 * @throws CallFailed `unexpected_answer` for a block that does not end.
 */
export async function* eventBlocks(
  chunks: AsyncIterable<string>,
): AsyncGenerator<EventBlock, undefined> {
  let rest = ''
  for await (const chunk of chunks) {
    const parts = (rest + chunk).split(/\r\n\r\n|\n\n|\r\r/)
    rest = parts.pop() ?? ''
    if (rest.length > longestBlock) throw new CallFailed('unexpected_answer')
    yield* parts.map(blockOf)
  }
}

function blockOf(text: string): EventBlock {
  const fields = text.split(/\r\n|\n|\r/).map((line) => /^(id|data)(?:: ?(.*))?$/s.exec(line))
  const valuesOf = (name: string) =>
    fields.flatMap((field) => (field?.[1] === name ? [field[2] ?? ''] : []))
  const data = valuesOf('data')
  return { id: valuesOf('id').at(-1), data: data.length === 0 ? undefined : data.join('\n') }
}
