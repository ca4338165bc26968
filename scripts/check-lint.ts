/**
 * `npm run check:lint [-- PATH …]`: prints sentences of documents, comments and messages that use a
 * word or phrase of the list in lint/phrases.ts, with the better one. It warns and never fails: a
 * phrase may be right where it stands.
 */
import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type Phrase, phrases } from './lint/phrases.ts'

interface Passage {
  readonly line: number
  readonly text: string
}

export interface Warning extends Passage {
  readonly path: string
  readonly found: string
  readonly better: string
}

const patterns = [
  '*.md',
  '{docs,deploy,examples,packages}/**/*.md',
  '{src,bin,packages,web,scripts,bench,examples,deploy}/**/*.{ts,mjs}',
  '{src,database}/**/*.sql',
]

/** Generated files, dependencies, and the list itself. */
const excluded = /node_modules|\/dist\/|\/generated\/|CHANGELOG|scripts\/lint\//

export const listTexts = (root: string): string[] =>
  globSync(patterns, { cwd: root })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => !excluded.test(path))
    .sort()

/** Comments and literals of a module. A misread regular expression can only cause a warning. */
const codeTexts =
  /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g
const sqlComments = /(?:^[ \t]*--[^\n]*\n)+/gm
const paragraphs = /(?:^[^\n]*\S[^\n]*\n?)+/gm

const readPassages = (path: string, source: string): Passage[] => {
  const isDocument = path.endsWith('.md')
  // Code in a document keeps its line ends, so that the numbers of later lines stay right.
  const text = isDocument
    ? source.replace(/^(```|~~~)[\s\S]*?^\1|`[^`\n]*`/gm, (code) => code.replace(/[^\n]/g, ' '))
    : source
  const pattern = isDocument ? paragraphs : path.endsWith('.sql') ? sqlComments : codeTexts
  return [...text.matchAll(pattern)].map(({ 0: found, index }) => ({
    line: text.slice(0, index).split('\n').length,
    text: found,
  }))
}

const marks = /^\s*(?:\/\*\*?|\*\/|\*|\/\/|--|#+|>)?\s*/gm

const wordsLeast = 4

/** Finds the first listed phrase of each sentence of a passage. */
const checkPassage = (path: string, { line, text }: Passage): Warning[] => {
  const isComment = /^\s*(?:\/[*/]|--)/.test(text)
  const sentences = text
    .replace(marks, '')
    .replace(/\*\/|\s+/g, ' ')
    .split(/(?<=[.:;?!]) /)
  return sentences.flatMap((sentence, at) => {
    // A name or a state is no sentence.
    if (sentence.split(' ').length < wordsLeast) return []
    const applies = ({ onlyFirstOfComment, pattern }: Phrase): boolean =>
      pattern.test(sentence) && (!onlyFirstOfComment || (isComment && at === 0))
    const phrase = phrases.find(applies)
    const found = phrase?.pattern.exec(sentence)?.[0]
    return phrase && found
      ? [{ path, line, found, better: phrase.better, text: sentence.trim() }]
      : []
  })
}

export const checkText = (path: string, source: string): Warning[] =>
  readPassages(path, source).flatMap((passage) => checkPassage(path, passage))

const main = (): void => {
  const root = resolve(import.meta.dirname, '..')
  const given = process.argv.slice(2)
  const paths = given.length > 0 ? given : listTexts(root)
  const warnings = paths.flatMap((path) => checkText(path, readFileSync(join(root, path), 'utf8')))
  for (const { better, found, line, path, text } of warnings) {
    console.log(`${path}:${line} “${found.trim()}” (better: ${better}): ${text}`)
  }
  console.log(`lint: ${warnings.length} sentences to look at, in ${paths.length} files`)
}

if (import.meta.main) main()
