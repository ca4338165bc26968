/**
 * C0, DEL and C1; separators of lines; what has no shape of its own, such as changes of direction;
 * unpaired surrogates.
 */
const unseen = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu

/** Names in Persian and in Indic scripts need the joiners. */
const joiners: ReadonlySet<string> = new Set(['\u200c', '\u200d'])

const escapeOf = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

/**
 * A text as a terminal may have it: without anything that moves the cursor, changes colours or
 * reorders what is read. Such characters are written as JSON escapes them, so that JSON stays the
 * same JSON. Line ends stay.
 */
export const escapeText = (text: string): string =>
  text.replaceAll(unseen, (character) =>
    character === '\n' || joiners.has(character)
      ? character
      : character.replaceAll(/./gs, escapeOf),
  )

/** The same for a text that is a part of a line: it cannot begin another one. */
export const escapeLine = (text: string): string => escapeText(text).replaceAll('\n', '\\u000a')
