import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import Type from 'typebox'
import type { Server } from './server.ts'

/**
 * Caches must revalidate on each use: a cached key set would lack the next key on the day on which
 * it comes into use.
 */
const publishedCacheControl = 'no-cache'

/** A public document that is composed once and sent unchanged. */
export interface PublishedDocument {
  readonly mediaType: string
  readonly bytes: Buffer
  readonly entityTag: string
}

export function publishedDocument(mediaType: string, content: string | Buffer): PublishedDocument {
  const bytes = Buffer.from(content)
  const hash = createHash('sha256').update(bytes).digest('base64url')
  // RFC 9110 section 8.8.3.
  return { mediaType, bytes, entityTag: `"${hash.slice(0, 27)}"` }
}

/** Sends a document, or 304 to a caller that already has it. */
export function sendPublished(
  request: FastifyRequest,
  reply: FastifyReply,
  { bytes, entityTag, mediaType }: PublishedDocument,
): FastifyReply {
  reply.headers({ 'cache-control': publishedCacheControl, etag: entityTag })
  // Whether the caller already has the document, by its `If-None-Match` (RFC 9110 section 13.1.2).
  // Tags are compared weakly, because a compressing proxy makes them weak.
  const known = (request.headers['if-none-match'] ?? '').split(',')
  const isKnown = known.some((each) => ['*', entityTag].includes(each.trim().replace(/^W\//, '')))
  if (isKnown) return reply.code(304).send()
  return reply.type(mediaType).send(bytes)
}

/** The request headers of traced pages (W3C Trace Context, W3C Baggage) and of revalidation. */
const pageHeaders = 'traceparent, tracestate, baggage, if-none-match'

/**
 * Answers a browser's preflight request for a public document from any origin (Fetch,
 * "CORS-preflight request"): traced pages send headers that cause one.
 */
export function preflightRoute(app: Server, path: string): void {
  app.options(
    path,
    {
      config: { access: 'open', problems: ['unsupported_media_type', 'body_too_large'] },
      schema: { hide: true, response: { 204: Type.Null() } },
    },
    async (_, reply) => sendPreflight(reply),
  )
}

export const sendPreflight = (reply: FastifyReply): FastifyReply =>
  reply
    .headers({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET, HEAD',
      'access-control-allow-headers': pageHeaders,
      'access-control-max-age': '86400',
    })
    .code(204)
    .send(null)

/** Composes a document at its first request. */
export function madeOnce(make: () => PublishedDocument): () => PublishedDocument {
  let made: PublishedDocument | null = null
  return () => {
    made ??= make()
    return made
  }
}
