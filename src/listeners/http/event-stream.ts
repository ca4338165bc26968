import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** A stream ends when its token expires; one that is not read must be ended. */
const graceMs = 5_000
/** A timer with a longer time fires at once. */
const longestTimerMs = 2 ** 31 - 1

/** The content of a stream, and its end. */
interface EventStreamSource {
  /** In the form of the HTML standard, section 9.2. */
  readonly lines: AsyncIterable<string>
  readonly expiresAt: Date
  /** Bytes that wait for a reader before no more lines are read. */
  readonly bufferBytes: number
  /** Ends it: the iteration finishes. */
  end(): void
}

/** Answers by an event stream. */
export function sendEventStream(
  request: FastifyRequest,
  reply: FastifyReply,
  source: EventStreamSource,
): FastifyReply {
  const lines = Readable.from(source.lines, {
    objectMode: false,
    highWaterMark: source.bufferBytes,
  })
  endWithReader(source, request, reply)
  return (
    reply
      .header('content-type', 'text/event-stream; charset=utf-8')
      .header('x-accel-buffering', 'no')
      // The end of the stream closes the connection: an open one would delay the stop of the
      // service.
      .header('connection', 'close')
      .send(lines)
  )
}

/**
 * Disconnects a reader that has gone, or that no longer reads when its token expires, and frees its
 * slot.
 */
function endWithReader(
  { end: endSource, expiresAt }: EventStreamSource,
  { raw: { socket } }: FastifyRequest,
  { raw: response }: FastifyReply,
): void {
  const end = () => {
    clearTimeout(expiry)
    socket.off('close', end)
    response.off('close', end)
    endSource()
  }
  const leftMs = Math.min(expiresAt.getTime() + graceMs - Date.now(), longestTimerMs)
  const expiry = setTimeout(() => {
    end()
    socket.destroy()
  }, leftMs)
  socket.once('close', end)
  response.once('close', end)
  // The reader disconnected while the stream was opened: no event will report it.
  if (socket.destroyed || response.destroyed) end()
}
