import { setTimeout as wait } from 'node:timers/promises'
import { eventBlocks } from '../../../packages/sdk/client/transport/event-stream.ts'
import {
  type Call,
  type Command,
  clientConnection,
  findText,
  given,
  limitOption,
  type Options,
  parseLimit,
  parseNumber,
  Refused,
  Unreachable,
  UsageError,
} from '../command.ts'
import { asClient } from '../connection/connection.ts'
import type { Open, ServiceConnection } from '../connection/requests.ts'
import { line, print, printBeside, table } from '../output.ts'

/** Where following begins and ends. */
export const followOptions: Options = {
  after: {
    type: 'string',
    value: 'ID',
    help: 'starts after this event; the default is new events only',
    pointer: '/last-event-id',
  },
  count: { type: 'string', value: 'N', help: 'ends after this number of events' },
}

const typesOption: Options = {
  types: {
    type: 'string',
    value: 'LIST',
    help: 'only these types, separated by commas: pin.blocked,pin.set',
    pointer: '/types',
  },
}

interface EventRecord {
  readonly id: string
  readonly type: string
  readonly timestamp: string
  readonly data: { readonly publicToken?: string }
}

export const eventListCommand: Command = {
  words: 'events list',
  summary: 'lists the stored events, oldest first',
  options: {
    ...typesOption,
    after: { type: 'string', value: 'ID', help: 'starts after this event', pointer: '/after' },
    ...limitOption,
  },
  connection: clientConnection,
  example: 'pinfold events list --types card.renewal_due',
  run: (call) =>
    asClient(call, async ({ base, readAll }) => {
      const query = given({ types: findText(call, 'types'), after: findText(call, 'after') })
      const path = `${base}/events?${new URLSearchParams(query as Record<string, string>)}`
      const events = await readAll<EventRecord>(path, parseLimit(call))
      const rows = events.map(({ data: { publicToken = '–', ...rest }, id, timestamp, type }) => [
        timestamp,
        publicToken,
        type,
        JSON.stringify(rest),
        id,
      ])
      const columns = ['TIME', 'CARD', 'TYPE', 'DETAILS', 'EVENT']
      return { json: events, text: table(columns, rows) }
    }),
}

export const eventsCommand: Command = {
  words: 'events follow',
  summary: 'prints events as they occur, until it is stopped',
  description:
    'When the stream ends (a token is valid for an hour), it resumes after the last printed ' +
    'event.\nWith --json each event is one line.',
  options: { ...typesOption, ...followOptions },
  connection: clientConnection,
  example: 'pinfold events follow --types pin.blocked,cvv.blocked',
  run: (call) =>
    asClient(call, async (service) => {
      const types = findText(call, 'types')
      await followEvents(service, call, types, async (event) =>
        print(call.options.json ? JSON.stringify(JSON.parse(event)) : formatEvent(event)),
      )
      return null
    }),
}

/**
 * Prints events as they occur, in order, by the options --after and --count.
 * @param types separated by commas; undefined for all.
 * @param signal ends it.
 * @throws Unreachable without a running server, since no events occur then.
 */
export async function followEvents(
  service: ServiceConnection,
  call: Call,
  types: string | undefined,
  pass: (event: string) => Promise<void>,
  signal = new AbortController().signal,
): Promise<void> {
  if (!service.open) throw new Unreachable('No server is running here. Run pinfold start first.')
  const most = parseNumber(call, 'count') ?? Number.POSITIVE_INFINITY
  if (most < 1) throw new UsageError('--count must be 1 or more.')
  const query = types === undefined ? '' : `?${new URLSearchParams({ types })}`
  let passed = 0
  const path = `${service.base}/events${query}`
  for await (const event of follow(service.open, path, findText(call, 'after'), signal)) {
    await pass(event)
    passed += 1
    if (passed >= most) break
  }
}

/** The pauses before reconnecting; the last one repeats. */
const pausesMs = [200, 500, 1_000, 2_000, 5_000]

/**
 * Yields the events of successive streams, as JSON. @throws errors that a new stream would repeat.
 */
async function* follow(
  open: Open,
  path: string,
  after: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<string, undefined> {
  let last = after
  let hasBegun = false
  // The number of consecutive failures, and of streams without a block.
  for (let failures = 0; !signal.aborted; failures += 1) {
    try {
      const blocks = await openStream(open, path, last, signal)
      hasBegun = true
      for await (const { data, id } of blocks) {
        failures = 0
        last = id ?? last
        if (data !== undefined) yield data
      }
    } catch (error) {
      if (signal.aborted) return
      if (isFinal(error, hasBegun, failures)) throw error
      printBeside('The stream ended and is being opened again.')
    }
    await pause(failures, signal)
  }
}

const pause = (failures: number, signal: AbortSignal): Promise<void> =>
  wait(pausesMs[Math.min(failures, pausesMs.length - 1)], undefined, { signal }).catch(
    () => undefined,
  )

/** The failures after which a server that never answered is given up. */
const failuresMax = 5

/**
 * Whether a new stream would repeat an error: a refusal, or a server that never answered. After a
 * first stream, 429 is not final: the streams of a killed server count for a while.
 */
export function isFinal(error: unknown, hasBegun: boolean, failures: number): boolean {
  if (error instanceof UsageError) return true
  if (error instanceof Refused) return !hasBegun || error.status !== 429
  return !hasBegun && failures >= failuresMax
}

/** Continues after the last received event, or from now on. */
async function openStream(open: Open, path: string, last: string | undefined, signal: AbortSignal) {
  const { body } = await open(path, {
    accept: 'text/event-stream',
    ...(last !== undefined && { 'last-event-id': last }),
  })
  printBeside(last === undefined ? 'Following new events.' : 'Following.')
  return eventBlocks(decodeStream(body, signal))
}

/** Decodes the text of a stream. @throws Unreachable if the answer has no body. */
export function decodeStream(
  body: ReadableStream<Uint8Array> | null,
  signal?: AbortSignal,
): ReadableStream<string> {
  if (body === null) throw new Unreachable('The service answered without a stream.')
  const decoder = new TextDecoderStream() as TransformStream<Uint8Array, string>
  return body.pipeThrough(decoder, signal && { signal })
}

function formatEvent(text: string): string {
  const { data, timestamp, type } = JSON.parse(text) as {
    type: string
    timestamp: string
    data: { publicToken: string }
  }
  const { publicToken, ...rest } = data
  return line`${timestamp}  ${publicToken}  ${type}  ${JSON.stringify(rest)}`
}
