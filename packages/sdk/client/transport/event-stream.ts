import { CallFailed } from '../errors.ts'
import { checkPatience } from '../options.ts'
import { mayRepeat, type OpenAnswer, pause, waitAfter, withDeadline } from './attempt.ts'
import { parseContent } from './content.ts'
import type { Call, CallOptions, Transport } from './transport.ts'

export interface FollowOptions {
  readonly signal?: AbortSignal | undefined
  /** For each connection, until it is open. */
  readonly timeoutMs?: number | undefined
  /** The maximum silence of a connection before it is replaced; 45,000 unless given. */
  readonly silenceMs?: number | undefined
}

/**
 * The service sends a heartbeat every 15 seconds: after three missing ones, the connection is lost.
 */
const usualSilenceMs = 45_000

/** A block of a stream with its JSON. */
interface StreamedBlock<Content> {
  readonly id: string | undefined
  readonly content: Content | undefined
}

/**
 * Yields the blocks of a stream, over several connections. A block without data is yielded, too.
 * @param composeCall the call of the next connection.
 */
export async function* followStream<Content>(
  transport: Transport,
  composeCall: () => Pick<Call, 'headers' | 'path' | 'query'>,
  { silenceMs = usualSilenceMs, ...options }: FollowOptions,
): AsyncGenerator<StreamedBlock<Content>, undefined> {
  checkPatience({ silenceMs })
  for (let failures = 0; ; failures += 1) {
    let failure: unknown
    try {
      const { headers, ...call } = composeCall()
      const answer = await transport.open({
        ...call,
        ...options,
        method: 'GET',
        headers: { accept: 'text/event-stream', ...headers },
        isRepeatable: true,
      })
      for await (const { data, id } of eventBlocks(readText(answer, silenceMs, options.signal))) {
        failures = 0
        const content =
          data === undefined ? undefined : parseContent<Content>({ ...answer, text: data })
        yield { id, content }
      }
    } catch (error) {
      options.signal?.throwIfAborted()
      if (!mayRepeat(error, true)) throw error
      failure = error
    }
    // A stream also ends when its token expires, or when a process of the service stops.
    await pause(waitAfter(failure, failures), options.signal)
  }
}

/** Yields the text of a stream. Silence or the signal ends it. @throws CallFailed */
async function* readText(
  { body, headers, status }: OpenAnswer,
  timeoutMs: number,
  signal: CallOptions['signal'],
): AsyncGenerator<string, undefined> {
  const reader = body?.getReader()
  const decoder = new TextDecoder()
  try {
    const isStream = headers.get('content-type')?.startsWith('text/event-stream') ?? false
    if (!reader || !isStream) throw new CallFailed('unexpected_answer', { status })
    for (;;) {
      const { done, value } = await withDeadline({ timeoutMs, signal }, () => reader.read())
      if (done) return
      yield decoder.decode(value, { stream: true })
    }
  } finally {
    void reader?.cancel().catch(() => undefined)
  }
}

/** One block of an event stream (HTML standard, section 9.2). Absent members are unset. */
interface EventBlock {
  readonly id: string | undefined
  readonly data: string | undefined
}

/** Characters; an event takes less than a thousand. */
const longestBlock = 1_048_576

/**
 * Yields the blocks of a stream, also those without data, since their ID counts.
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
    yield* parts.map(parseBlock)
  }
}

function parseBlock(text: string): EventBlock {
  const fields = text.split(/\r\n|\n|\r/).map((line) => /^(id|data)(?:: ?(.*))?$/s.exec(line))
  const listValues = (name: string) =>
    fields.flatMap((field) => (field?.[1] === name ? [field[2] ?? ''] : []))
  const data = listValues('data')
  return { id: listValues('id').at(-1), data: data.length === 0 ? undefined : data.join('\n') }
}
