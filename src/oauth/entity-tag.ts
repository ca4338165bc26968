import { createHash } from 'node:crypto'

/**
 * How long what is published is good: it may be kept, and is asked for again each time. A set of keys that was
 * kept for a while without asking would lack the next key on the day that it comes into use.
 */
export const publishedCacheControl = 'no-cache'

/** The entity tag of a document (RFC 9110 section 8.8.3). */
export const entityTagOf = (bytes: string | Uint8Array): string =>
  `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 27)}"`

/**
 * Whether a caller has a document already, by its `If-None-Match` (RFC 9110 section 13.1.2). Tags are compared
 * weakly: a proxy that compresses makes ours a weak one.
 */
export const hasEntity = (ifNoneMatch: string | undefined, entityTag: string): boolean =>
  (ifNoneMatch ?? '')
    .split(',')
    .some((each) => ['*', entityTag].includes(each.trim().replace(/^W\//, '')))
