import { holdsPan } from './pan.ts'

/** The most characters of a name on a card (track 1, ISO/IEC 7813). */
export const NAME_ON_CARD_LENGTH_MAX = 26

/** What is wrong with a name that a client wants on a card, or null. Nothing is repaired. */
export function nameOnCardFault(text: string): string | null {
  if (!/^[A-Z0-9 .'\-/&]{1,26}$/.test(text)) {
    return "must have 1 to 26 characters out of A-Z, 0-9, space and . ' - / &"
  }
  if (!hasContent(text)) return 'must hold a letter or a digit'
  return holdsPan(text) ? 'must not hold a card number' : null
}

/**
 * The name on a card by default: first and last name in Latin capitals, at most 26 characters. Over
 * that, the first name becomes its initial, and then the last name is cut. A name of which nothing
 * can be written so is left out; null if that leaves none.
 */
export function embossName(firstName: string, lastName: string): string | null {
  const first = latinCapitals(firstName)
  const last = latinCapitals(lastName)
  const whole = joined(first, last)
  if (whole.length <= NAME_ON_CARD_LENGTH_MAX) return whole || null
  // Without a last name an initial would be all that is left of the name.
  const short = last ? joined(initial(first), last) : first
  return short.slice(0, NAME_ON_CARD_LENGTH_MAX).trim()
}

const joined = (...names: readonly string[]): string => names.filter(Boolean).join(' ')

const hasContent = (name: string): boolean => /[A-Z0-9]/.test(name)

const initial = (name: string): string => /[A-Z0-9]/.exec(name)?.[0] ?? ''

/** The text in the characters of a card, or an empty string if only punctuation is left. */
function latinCapitals(name: string): string {
  const capitals = name
    // Before decomposition, which makes a space and an accent of a free-standing acute.
    .replace(/[´`‘’ʻʼ′]/g, "'")
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toUpperCase()
  const latin = [...capitals].map(latinOf).join('').replace(/ +/g, ' ').trim()
  return hasContent(latin) ? latin : ''
}

function latinOf(character: string): string {
  if (/[A-Z0-9 .'\-/&]/.test(character)) return character
  if (/\p{Z}/u.test(character)) return ' '
  if (/\p{Pd}/u.test(character)) return '-'
  return latinLetters[character] ?? ''
}

// Letters that do not decompose; but for Ø as in ICAO Doc 9303-3 section 6 A. (ß becomes SS, and ı
// becomes I, by being capitals.)
const latinLetters: Readonly<Record<string, string>> = {
  Ø: 'O',
  Æ: 'AE',
  Œ: 'OE',
  ẞ: 'SS',
  Ł: 'L',
  Đ: 'D',
  Ð: 'D',
  Þ: 'TH',
  Ħ: 'H',
  Ŋ: 'N',
  Ŧ: 'T',
  Ə: 'E',
  ĸ: 'Q',
  Ɓ: 'B',
  Ɖ: 'D',
  Ɗ: 'D',
  Ɛ: 'E',
  Ɣ: 'G',
  Ɨ: 'I',
  Ƙ: 'K',
  Ɔ: 'O',
  Ʉ: 'U',
  Ƴ: 'Y',
  ʼ: "'",
}
