import type { FastifyReply, FastifyRequest } from 'fastify'
import { entityTagOf, hasEntity, publishedCacheControl } from '../oauth/entity-tag.ts'

/** What anybody may have, made once and sent as it is. */
export interface PublishedDocument {
  readonly mediaType: string
  readonly bytes: Buffer
  readonly entityTag: string
}

export function publishedDocument(mediaType: string, text: string): PublishedDocument {
  const bytes = Buffer.from(text)
  return { mediaType, bytes, entityTag: entityTagOf(bytes) }
}

/** Sends a document, or 304 to a caller that has it already. */
export function sendPublished(
  request: FastifyRequest,
  reply: FastifyReply,
  { bytes, entityTag, mediaType }: PublishedDocument,
): FastifyReply {
  reply.headers({ 'cache-control': publishedCacheControl, etag: entityTag })
  if (hasEntity(request.headers['if-none-match'], entityTag)) return reply.code(304).send()
  return reply.type(mediaType).send(bytes)
}

/** Makes a document when somebody first asks for it. */
export function madeOnce(make: () => PublishedDocument): () => PublishedDocument {
  let made: PublishedDocument | null = null
  return () => {
    made ??= make()
    return made
  }
}
