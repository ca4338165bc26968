import type { FastifyReply, FastifyRequest } from 'fastify'
import Type from 'typebox'
import { isEventType } from '../../../domain/event-type.ts'
import { isUuid } from '../../../domain/identifiers.ts'
import { parameterFault, validationFailed } from '../../../domain/problem.ts'
import { type EventFilter, listEvents } from '../../../operations/events/events.ts'
import type { EventStream, EventStreams } from '../../../operations/events/streams.ts'
import { requireCaller as authenticatedCaller } from '../../http/authentication.ts'
import { sendEventStream } from '../../http/event-stream.ts'
import { linkNext, parseLimit } from '../../http/pages.ts'
import { createRequester, type PublicApi } from '../api.ts'
import { EventSchema, ListEventsQuerySchema } from '../schemas/events.ts'

export function listEventsRoute({ app, base, eventStreams, issuing }: PublicApi): void {
  app.addHook('preClose', () => eventStreams.close())
  app.get(
    `${base}/events`,
    {
      config: { access: 'events.read', lists: true },
      schema: {
        operationId: 'listEvents',
        summary: 'Read events',
        description:
          'The oldest stored event comes first. `after` continues from an event: later events ' +
          'always follow it. With `Accept: text/event-stream` new events are streamed, from ' +
          'now on or from `Last-Event-ID`, until the access token expires.',
        tags: ['Events'],
        querystring: ListEventsQuerySchema,
        response: { 200: Type.Array(EventSchema) },
      },
    },
    async (request, reply) => {
      const { after = null, limit, types } = request.query
      const filter = { after, types: types?.split(',').filter(isEventType) ?? null }
      const { accept = '' } = request.headers
      if (request.method === 'GET' && /(^|,)\s*text\/event-stream\s*(;|,|$)/i.test(accept)) {
        return stream(eventStreams, request, reply, filter)
      }
      const pageSize = parseLimit(limit)
      // One more than requested shows whether there is a next page.
      const events = await listEvents(issuing, createRequester(request), filter, pageSize + 1)
      const page = events.slice(0, pageSize)
      const last = events.length > pageSize ? page.at(-1) : undefined
      if (last) linkNext(request, reply, { after: last.id })
      return page
    },
  )
}

async function stream(
  streams: EventStreams,
  request: FastifyRequest,
  reply: FastifyReply,
  filter: EventFilter,
): Promise<FastifyReply> {
  const { clientId, expiresAt } = authenticatedCaller(request)
  const lastEventId = request.headers['last-event-id'] || null
  if (lastEventId !== null && !isUuid(lastEventId)) {
    throw validationFailed(parameterFault('last-event-id', 'must be the id of an event'))
  }
  const after = lastEventId ?? filter.after
  const opened = await streams.open(clientId, { ...filter, after }, expiresAt)
  const lines = composeLines(opened)
  return sendEventStream(request, reply, {
    lines,
    expiresAt,
    bufferBytes: 65_536,
    end: () => opened.end(),
  })
}

/**
 * Writes the form of the HTML standard, section 9.2: each event is a block, a comment is a
 * keep-alive.
 */
async function* composeLines({ after, events }: EventStream): AsyncGenerator<string> {
  // A reader that disconnects before its first event can resume from here.
  yield after === null ? ': live\n\n' : `id: ${after}\n: live\n\n`
  for await (const some of events) {
    const blocks = some.map((event) => `id: ${event.id}\ndata: ${JSON.stringify(event)}\n\n`)
    yield blocks.join('') || ': still here\n\n'
  }
}
