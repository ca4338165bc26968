/**
 * C0, DEL and C1; line separators; characters without a glyph, such as direction marks; unpaired
 * surrogates.
 */
const unseen = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu

/** Names in Persian and in Indic scripts contain the joiners. */
const joiners: ReadonlySet<string> = new Set(['\u200c', '\u200d'])

/**
 * Escapes the characters of a text that move a terminal's cursor, change its colours or reorder the
 * displayed text. The escapes are those of JSON, so a JSON text keeps its meaning. Line ends are
 * not escaped.
 */
export const escapeText = (text: string): string =>
  text.replaceAll(unseen, (character) => {
    if (character === '\n' || joiners.has(character)) return character
    // A character outside the basic plane is two UTF-16 code units.
    const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at))
    return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')
  })

/** Escapes line ends, too, so the text stays on one line. */
export const escapeLine = (text: string): string => escapeText(text).replaceAll('\n', '\\u000a')
