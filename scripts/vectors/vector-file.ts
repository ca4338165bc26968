import { readFile } from 'node:fs/promises'
import { isObject } from './inputs.ts'
import { readWycheproofFile } from './wycheproof-file.ts'

/** One vector. */
export type VectorRow = {
  readonly id: string
  readonly name: string
  readonly op: string
  readonly inputs: Readonly<Record<string, unknown>>
  /** Members that the answer has, or `error`: then the operation refuses. */
  readonly expected: Readonly<Record<string, unknown>>
  /** `published`, `derived`, `policy` or `trap`. */
  readonly provenance: string
}

/** A file of vectors; what is not a row of the form stands under `malformed`, by its place. */
export type VectorFile = {
  readonly primitive: string
  readonly rows: readonly VectorRow[]
  readonly malformed: readonly string[]
}

/** Reads a file of vectors; null if it is none. */
export async function readVectorFile(path: string): Promise<VectorFile | null> {
  const content = parse(await readFile(path, 'utf8').catch(() => ''))
  if (!isObject(content)) return null
  if (!Array.isArray(content.vectors)) return readWycheproofFile(content)
  const vectors: readonly unknown[] = content.vectors
  const malformed = vectors.flatMap((row, at) =>
    isRow(row) ? [] : [`${idOf(row)} (row ${at + 1})`],
  )
  return { primitive: String(content.primitive), rows: vectors.filter(isRow), malformed }
}

/**
 * Whether a file proves a computation by nothing but its author's own values: it has rows that
 * compute something, and none of them is published.
 */
export function lacksPublished({ rows }: VectorFile): boolean {
  const computing = rows.filter(({ provenance }) => !['policy', 'trap'].includes(provenance))
  return computing.length > 0 && !computing.some(({ provenance }) => provenance === 'published')
}

function isRow(row: unknown): row is VectorRow {
  if (!isObject(row)) return false
  const isNamed = ['id', 'name', 'op', 'provenance'].every((key) => typeof row[key] === 'string')
  return isNamed && isObject(row.inputs) && isObject(row.expected)
}

function idOf(row: unknown): string {
  return isObject(row) && typeof row.id === 'string' ? row.id : 'unnamed'
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
