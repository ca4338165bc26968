import { CallFailed } from '../errors/call-failed.ts'

declare const encoded: unique symbol

/** Writes a path below `T` whose variable parts are encoded. Only the tag makes one. */
export type Path = (() => string) & { readonly [encoded]: true }

/**
 * ``path`/cards/${publicToken}` ``: whatever a part holds, it stays one segment. It is written when the
 * call is made, so that what is wrong with it is a rejection of the call.
 * @throws CallFailed `invalid_argument` for a part that is no text, is empty, or would climb.
 */
export function path(texts: TemplateStringsArray, ...parts: readonly string[]): Path {
  const write = () => String.raw({ raw: texts }, ...parts.map(segment))
  return write as Path
}

function segment(part: unknown): string {
  if (typeof part !== 'string' || part === '' || part === '.' || part === '..') {
    throw new CallFailed('invalid_argument', { detail: 'A reference in the path is not a text.' })
  }
  return encodeURIComponent(part)
}
