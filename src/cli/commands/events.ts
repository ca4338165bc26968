import { setTimeout as wait } from 'node:timers/promises'
import {
  type Call,
  type Command,
  numberOf,
  Refused,
  textOf,
  Unreachable,
  UsageError,
} from '../command.ts'
import { asClient, type Reached } from '../connection/connection.ts'

export const eventsCommand: Command = {
  words: 'events follow',
  summary: 'prints events as they come, until it is stopped',
  description:
    'Where the stream ends (a token lives an hour) it goes on from the last event that was printed.\nWith --json each event is one line.',
  options: {
    types: { type: 'string', value: 'LIST', help: 'only these, with commas: pin.blocked,pin.set' },
    after: { type: 'string', value: 'ID', help: 'from after this event; without it from now on' },
    count: { type: 'string', value: 'N', help: 'ends after so many' },
  },
  example: 'pinfold events follow --types pin.blocked,cvv.blocked',
  run: (call) =>
    asClient(call, async (service) => {
      if (!service.live) throw new Unreachable('No server runs here: pinfold start, then follow.')
      await follow(call, service, service.live)
      return null
    }),
}

/** So long after a broken stream the next one is asked for; longer each time, as far as the last. */
const pausesMs = [200, 500, 1_000, 2_000, 5_000]

/** How far it has come. */
interface Place {
  last: string | null
  printed: number
  /** Streams in a row that brought nothing. */
  failures: number
}

async function follow(
  call: Call,
  { base }: Reached,
  live: NonNullable<Reached['live']>,
): Promise<void> {
  const most = numberOf(call, 'count') ?? Number.POSITIVE_INFINITY
  if (most < 1) throw new UsageError('--count must be 1 or more.')
  const place: Place = { last: textOf(call, 'after') ?? null, printed: 0, failures: 0 }
  for (;;) {
    try {
      const events = await open(call, `${live.baseUrl}${base}/events`, live, place.last)
      if (await print(call, events, place, most)) return
    } catch (error) {
      refuseFinal(error, place)
      console.error('The stream broke; it is asked for again.')
    }
    await wait(pausesMs[Math.min(place.failures, pausesMs.length - 1)])
    place.failures += 1
  }
}

/** What would be refused again ends it, and so does a server that was never there. */
function refuseFinal(error: unknown, { failures, printed }: Place): void {
  const isRefused = error instanceof Refused || error instanceof UsageError
  if (isRefused || (printed === 0 && failures >= pausesMs.length)) throw error
}

/** @returns whether as many are printed as were asked for. */
async function print(
  call: Call,
  events: AsyncIterable<ServerSentEvent>,
  place: Place,
  most: number,
): Promise<boolean> {
  for await (const { data, id } of events) {
    place.failures = 0
    place.last = id ?? place.last
    if (data === null) continue
    place.printed += 1
    console.log(call.options.json ? data : lineOf(data))
    if (place.printed >= most) return true
  }
  return false
}

async function open(
  call: Call,
  url: string,
  { tokens }: NonNullable<Reached['live']>,
  lastEventId: string | null,
): Promise<AsyncIterable<ServerSentEvent>> {
  const types = textOf(call, 'types')
  const request = async (token: string) =>
    fetch(types === undefined ? url : `${url}?${new URLSearchParams({ types })}`, {
      headers: {
        accept: 'text/event-stream',
        authorization: `Bearer ${token}`,
        ...(lastEventId !== null && { 'last-event-id': lastEventId }),
      },
    }).catch((cause: unknown) => {
      throw new Unreachable(`Nothing answers at ${new URL(url).origin}.`, { cause })
    })
  const first = await request(await tokens.current())
  const answer = first.status === 401 ? await request(await tokens.renew()) : first
  if (answer.ok) console.error(lastEventId === null ? 'Following from now on.' : 'Following.')
  if (answer.status >= 500) throw new Unreachable(`The service answered ${answer.status}.`)
  if (!answer.ok || !answer.body) {
    throw new Refused(answer.status, (await answer.json().catch(() => ({}))) as object)
  }
  return readServerSentEvents(answer.body)
}

function lineOf(text: string): string {
  const { data, timestamp, type } = JSON.parse(text) as {
    type: string
    timestamp: string
    data: { publicToken: string }
  }
  const { publicToken, ...rest } = data
  return `${timestamp}  ${publicToken}  ${type}  ${JSON.stringify(rest)}`
}

/** One message of a stream (HTML Standard, section 9.2). */
interface ServerSentEvent {
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
