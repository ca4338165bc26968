import { holdsPan } from './pan.ts'

interface TextRule {
  readonly detail: string
  readonly breaks: (text: string) => boolean
}

// One and the same for all text: what does not show, or makes shown text lie about its order.
const textRules: readonly TextRule[] = [
  { detail: 'must not hold an unpaired surrogate', breaks: (text) => !text.isWellFormed() },
  { detail: 'must not hold control characters', breaks: (text) => unprintable.test(text) },
]

const panRule: TextRule = { detail: 'must not hold a card number', breaks: holdsPan }

const freeTextRules: readonly TextRule[] = [...textRules, panRule]

const nameRules: readonly TextRule[] = [
  ...textRules,
  {
    detail: "must consist of letters, digits, spaces and . , ' - / & ( )",
    breaks: (text) => !nameCharacters.test(text),
  },
  { detail: 'must hold a letter', breaks: (text) => !/\p{L}/u.test(text) },
  panRule,
]

/** What is wrong with any text, such as a line of an address, or null. */
export const textFault = (text: string): string | null => firstFault(textRules, text)

/** What is wrong with text in which people put anything, card numbers too, or null. */
export const freeTextFault = (text: string): string | null => firstFault(freeTextRules, text)

/** What is wrong with the name or title of a person, in whatever script, or null. */
export const nameFault = (text: string): string | null => firstFault(nameRules, text)

/** How many characters a text has, counted as code points, as JSON Schema does. */
export const codePointLength = (text: string): number => [...text].length

const firstFault = (rules: readonly TextRule[], text: string): string | null =>
  rules.find((rule) => rule.breaks(text))?.detail ?? null

// C0, DEL, C1; separators of lines and paragraphs; embeddings, overrides and isolates of direction.
const unprintable = /[\p{Cc}\u2028\u2029\u202A-\u202E\u2066-\u2069\p{Noncharacter_Code_Point}]/u

// With the joiners that Persian and Indic names need, without what makes an emoji of a digit.
const nameCharacters =
  /^(?:(?!\uFE0F)[\p{L}\p{Mn}\p{Mc}\p{Nd}\p{Zs}\p{Pd}\p{Join_Control}.,'’‘`´·・/&()])*$/u
