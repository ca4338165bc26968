import { holdsPan } from './pan.ts'

interface TextRule {
  readonly detail: string
  readonly breaks: (text: string) => boolean
}

// The rules for every text: no invisible characters, and none that change the order of the shown
// text.
const textRules: readonly TextRule[] = [
  { detail: 'must not contain an unpaired surrogate', breaks: (text) => !text.isWellFormed() },
  { detail: 'must not contain control characters', breaks: (text) => unprintable.test(text) },
]

const panRule: TextRule = { detail: 'must not contain a card number', breaks: holdsPan }

const freeTextRules: readonly TextRule[] = [...textRules, panRule]

const nameRules: readonly TextRule[] = [
  ...textRules,
  {
    detail: "must consist of letters, digits, spaces and . , ' - / & ( )",
    breaks: (text) => !nameCharacters.test(text),
  },
  { detail: 'must contain a letter', breaks: (text) => !/\p{L}/u.test(text) },
  panRule,
]

/** Returns the fault of any text, such as a line of an address, or null. */
export const textFault = (text: string): string | null => firstFault(textRules, text)

/** Returns the fault of free text, which may contain card numbers, or null. */
export const freeTextFault = (text: string): string | null => firstFault(freeTextRules, text)

/** Whether a text may be a key of metadata: no card number is one. */
export const isMetadataKey = (text: string): boolean =>
  /^[A-Za-z0-9_-]{1,40}$/.test(text) && !holdsPan(text)

/**
 * Returns the fault of one key of metadata with its value, or null. It also finds a card number
 * with other separators, or of which the key has a part.
 */
export const metadataFault = (key: string, value: string): string | null =>
  holdsPan(`${key}${value}`.replaceAll(/[/_|:;,]/g, '')) ? panRule.detail : null

/** Returns the fault of a person's name or title in any script, or null. */
export const nameFault = (text: string): string | null => firstFault(nameRules, text)

const firstFault = (rules: readonly TextRule[], text: string): string | null =>
  rules.find((rule) => rule.breaks(text))?.detail ?? null

// C0, DEL and C1; line and paragraph separators; direction embeddings, overrides and isolates.
const unprintable = /[\p{Cc}\u2028\u2029\u202A-\u202E\u2066-\u2069\p{Noncharacter_Code_Point}]/u

// Includes the joiners of Persian and Indic names, and excludes the selector that turns a digit
// into an emoji. The last characters occur in names of one script: Hebrew geresh and gershayim, the
// Armenian and Ethiopic marks, both forms of the Tibetan tsheg, the Devanagari abbreviation sign,
// and the halfwidth Katakana middle dot.
const nameCharacters =
  /^(?:(?!\uFE0F)[\p{L}\p{Mn}\p{Mc}\p{Nd}\p{Zs}\p{Pd}\p{Join_Control}.,'’‘`´·・/&()\u05F3\u05F4\u055A-\u055F\u0589\u0970\u0F0B\u0F0C\u1361-\u1368\uFF65])*$/u

/** The maximum length of a name on a card (track 1, ISO/IEC 7813). */
const NAME_ON_CARD_LENGTH_MAX = 26

/**
 * Returns the fault of a name that a client requests on a card, or null. The name is never
 * corrected.
 */
export function nameOnCardFault(text: string): string | null {
  if (!/^[A-Z0-9 .'\-/&]{1,26}$/.test(text)) {
    return "must have 1 to 26 characters out of A-Z, 0-9, space and . ' - / &"
  }
  if (!hasContent(text)) return 'must contain a letter or a digit'
  return holdsPan(text) ? 'must not contain a card number' : null
}

/**
 * Composes the default name on a card: first and last name in Latin capitals, at most 26
 * characters. In a longer name the first name becomes its initial, and then the last name is cut. A
 * name without a Latin equivalent is omitted; returns null when no name is left.
 */
export function embossName(firstName: string, lastName: string): string | null {
  const first = latinCapitals(firstName)
  const last = latinCapitals(lastName)
  const whole = joined(first, last)
  if (whole.length <= NAME_ON_CARD_LENGTH_MAX) return whole || null
  // Without a last name, the initial would be the whole name.
  const [initial = ''] = /[A-Z0-9]/.exec(first) ?? []
  const short = last ? joined(initial, last) : first
  return short.slice(0, NAME_ON_CARD_LENGTH_MAX).trim()
}

const joined = (...names: readonly string[]): string => names.filter(Boolean).join(' ')

const hasContent = (name: string): boolean => /[A-Z0-9]/.test(name)

/** The text in the characters of a card, or an empty string if only punctuation is left. */
function latinCapitals(name: string): string {
  const capitals = name
    // Before the decomposition, which turns a free-standing acute into a space and an accent.
    .replace(/[´`‘’ʻʼ′]/g, "'")
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toUpperCase()
  const latin = [...capitals].map(transliterate).join('').replace(/ +/g, ' ').trim()
  return hasContent(latin) ? latin : ''
}

function transliterate(character: string): string {
  if (/[A-Z0-9 .'\-/&]/.test(character)) return character
  if (/\p{Z}/u.test(character)) return ' '
  if (/\p{Pd}/u.test(character)) return '-'
  return latinLetters[character] ?? ''
}

// Letters without a decomposition, by ICAO Doc 9303-3 section 6 A except Ø. Capitalization turns ß
// into SS and ı into I.
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
