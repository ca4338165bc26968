import { type Content, html } from '../listeners/http/html.ts'
import type { Section } from './markdown.ts'

/** A section that can be found, and where it is. */
export interface Entry extends Section {
  readonly address: string
  /** Title of the page that it is on. */
  readonly page: string
}

/** How many results a search shows. */
const shownResults = 30

/**
 * Searches the sections that contain every word, in the title of the page or of the section or in
 * the text. Those with a word in a title come first, and whole words before parts of words.
 */
export function searchEntries(entries: readonly Entry[], text: string): readonly Entry[] {
  const words = parseWords(text)
  if (words.length === 0) return []
  return entries
    .map((entry) => ({ entry, score: scoreEntry(entry, words) }))
    .filter(({ score }) => score > 0)
    .toSorted((one, other) => other.score - one.score)
    .slice(0, shownResults)
    .map(({ entry }) => entry)
}

/** Renders the results of a search. */
export function resultsContent(text: string, found: readonly Entry[]): Content {
  if (text.trim() === '') return html`<p>Enter one or several words.</p>`
  if (found.length === 0) return html`<p role="status">No section contains “${text}”.</p>`
  const words = parseWords(text)
  const items = found.map(({ address, id, page, text: content, title }) => {
    const where = title !== page && html` <small>${page}</small>`
    return html`<li><a href="${address}#${id}"><b>${title}</b>${where}</a>
      <p>${markWords(excerptText(content, words), words)}</p></li>`
  })
  const count = found.length === shownResults ? `The first ${shownResults}` : found.length
  return html`<p class="fine" role="status">${count} section${found.length > 1 && 's'} with
      “${text}”</p>
    <ol class="results">${items}</ol>`
}

const parseWords = (text: string): readonly string[] =>
  (text.toLowerCase().match(/[\p{Letter}\p{Number}_]+/gu) ?? []).slice(0, 8)

/** 0 where a word is missing. */
function scoreEntry({ page, text, title }: Entry, words: readonly string[]): number {
  const places = [
    { content: title.toLowerCase(), weight: 10 },
    { content: page.toLowerCase(), weight: 4 },
    { content: text.toLowerCase(), weight: 1 },
  ]
  const scores = words.map((word) =>
    places.reduce((sum, { content, weight }) => {
      if (!content.includes(word)) return sum
      return sum + (wholeWord(word).test(content) ? 2 * weight : weight)
    }, 0),
  )
  if (scores.includes(0)) return 0
  const isTitle = title.toLowerCase() === words.join(' ')
  return scores.reduce((sum, score) => sum + score, isTitle ? 20 : 0)
}

/** Matches one of the words where it is whole. Words have no characters that a pattern escapes. */
const wholeWord = (...words: readonly string[]): RegExp =>
  new RegExp(`(?<![\\p{L}\\p{N}])(${words.join('|')})(?![\\p{L}\\p{N}])`, 'iu')

/** Characters of text that a result shows. */
const excerptLength = 200

function excerptText(text: string, words: readonly string[]): string {
  const lower = text.toLowerCase()
  const whole = words.map((word) => lower.search(wholeWord(word)))
  const places = whole
    .map((place, at) => (place >= 0 ? place : lower.indexOf(words[at] ?? '')))
    .filter((place) => place >= 0)
  const start = Math.max(0, Math.min(...places, text.length) - excerptLength / 4)
  const from = places.length === 0 ? 0 : start
  const excerpt = text.slice(from, from + excerptLength).trim()
  return `${from > 0 ? '… ' : ''}${excerpt}${from + excerptLength < text.length ? ' …' : ''}`
}

function markWords(text: string, words: readonly string[]): Content {
  const pattern = wholeWord(...words)
  const isWhole = text.search(pattern) >= 0
  const parts = text.split(isWhole ? pattern : new RegExp(`(${words.join('|')})`, 'i'))
  return parts.map((part, index) => (index % 2 === 1 ? html`<mark>${part}</mark>` : part))
}
