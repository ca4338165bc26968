import { readFileSync } from 'node:fs'

/** One row of test/vectors/tlog/vectors.json, which names the source of each. */
export interface TlogVector {
  readonly id: string
  readonly name: string
  readonly op: string
  // biome-ignore lint/suspicious/noExplicitAny: each operation has inputs of its own, and the test reads them
  readonly inputs: any
  // biome-ignore lint/suspicious/noExplicitAny: see above
  readonly expected: any
}

const { vectors }: { vectors: readonly TlogVector[] } = JSON.parse(
  readFileSync(new URL('../vectors/tlog/vectors.json', import.meta.url), 'utf8'),
)

export const tlogVectors: readonly TlogVector[] = vectors

export const parseHex = (hex: string): Uint8Array => new Uint8Array(Buffer.from(hex, 'hex'))

export const toHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

export const toUtf8 = (text: string): Uint8Array => new Uint8Array(Buffer.from(text))

/** The leaves of rows that name them by a pattern: `record %d`. */
export const composeRecords = (inputs: { pattern: string; size: number }): Uint8Array[] =>
  Array.from({ length: inputs.size }, (_, at) => toUtf8(inputs.pattern.replace('%d', String(at))))
