import { CallFailed } from '../errors/call-failed.ts'

declare const encoded: unique symbol

/** A path below `T` whose variable parts are encoded. Only the tag makes one. */
export type Path = string & { readonly [encoded]: true }

/**
 * ``path`/cards/${publicToken}` ``: whatever a part holds, it stays one segment.
 * @throws CallFailed `invalid_argument` for a part that is no text, is empty, or would climb.
 */
export function path(texts: TemplateStringsArray, ...parts: readonly string[]): Path {
  const segments = parts.map((part) => {
    if (typeof part !== 'string' || part === '' || part === '.' || part === '..') {
      throw new CallFailed('invalid_argument', { detail: 'A reference in the path is not a text.' })
    }
    return encodeURIComponent(part)
  })
  return String.raw({ raw: texts }, ...segments) as Path
}
