import type { CardWords, Counted } from './card-words.ts'
import { arabic } from './languages/ar.ts'
import { german } from './languages/de.ts'
import { english } from './languages/en.ts'
import { spanish } from './languages/es.ts'
import { french } from './languages/fr.ts'

/** Words with the tag of their language, by which plurals are chosen. */
export interface Language {
  readonly tag: string
  readonly words: CardWords
}

const languages = new Map<string, CardWords>([
  ['en', english],
  ['es', spanish],
  ['fr', french],
  ['de', german],
  ['ar', arabic],
])

/** The tags of all languages that the element speaks. */
export const listLanguages = (): readonly string[] => [...languages.keys()]

/**
 * Adds a language, or replaces one. Call it before elements of that language are in the page.
 * @param tag as in the attribute `lang`: `pt`, `pt-BR`. @throws RangeError for a malformed tag.
 */
export function addLanguage(tag: string, words: CardWords): void {
  languages.set(Intl.getCanonicalLocales(tag).join('').toLowerCase(), words)
}

/** Finds `pt-br`, then `pt`, and otherwise returns English. */
export function findLanguage(lang: string): Language {
  const tag = lang.toLowerCase()
  for (const each of [tag, tag.split('-')[0] ?? '']) {
    const words = languages.get(each)
    if (words) return { tag: each, words }
  }
  return { tag: 'en', words: english }
}

/** Chooses the sentence for a number and writes the number into it. */
export function countIn({ tag }: Language, sentences: Counted, count: number): string {
  const sentence = sentences[new Intl.PluralRules(tag).select(count)] ?? sentences.other
  return sentence.replace('{count}', String(count))
}
