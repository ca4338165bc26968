import { createPrivateKey } from 'node:crypto'
import { readFile } from 'node:fs/promises'

/** One vector. */
export type VectorRow = {
  readonly id: string
  readonly name: string
  readonly op: string
  readonly inputs: Readonly<Record<string, unknown>>
  /** The members of the result, or `error` for a refusal. */
  readonly expected: Readonly<Record<string, unknown>>
  /** `published`, `derived`, `policy` or `trap`. */
  readonly provenance: string
}

/** A file of vectors; `malformed` has invalid rows by position. */
export type VectorFile = {
  readonly primitive: string
  readonly rows: readonly VectorRow[]
  readonly malformed: readonly string[]
}

/** Reads a file of vectors; null if it is malformed. */
export async function readVectorFile(path: string): Promise<VectorFile | null> {
  const content = parse(await readFile(path, 'utf8').catch(() => ''))
  if (!isObject(content)) return null
  if (!Array.isArray(content.vectors)) return readWycheproofFile(content)
  const vectors: readonly unknown[] = content.vectors
  const malformed = vectors.flatMap((row, at) =>
    isRow(row) ? [] : [`${findId(row)} (row ${at + 1})`],
  )
  return { primitive: String(content.primitive), rows: vectors.filter(isRow), malformed }
}

/**
 * Whether only the author's own values prove a computation: the file has computing rows, and none
 * is published.
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

function findId(row: unknown): string {
  return isObject(row) && typeof row.id === 'string' ? row.id : 'unnamed'
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** The members of a row's `inputs` in JSON. */
export type Inputs = Readonly<Record<string, unknown>>

/** The result of an operation on a row: bytes stay bytes, in any case of the file. */
export type Answer = Readonly<Record<string, unknown>>

/** One `op` of the vector files. It refuses by throwing. */
export type Operation = (inputs: Inputs, primitive: string) => Answer | Promise<Answer>

/** A row without the inputs of its operation: it proves nothing, so it fails. */
export class UnreadableRow extends Error {}

/** A row for an operation that the code lacks: it is skipped and listed. */
export class UncoveredRow extends Error {}

/** Returns text, possibly empty, under the first present name; other types are not converted. */
export function text(inputs: Inputs, ...names: readonly string[]): string {
  const value = names.map((name) => inputs[name]).find((input) => input !== undefined)
  if (value === undefined) throw new UnreadableRow()
  if (typeof value !== 'string') throw new RangeError('not text')
  return value
}

/** Decodes hexadecimal bytes; other text is refused. */
export function bytes(inputs: Inputs, ...names: readonly string[]): Buffer {
  return hexadecimal(text(inputs, ...names))
}

/** Parses a PAN, or composes one from the 12 digits that formats 0 and 3 use. */
export function parsePan(inputs: Inputs): string {
  if (inputs.pan !== undefined || inputs.pan12 === undefined) return text(inputs, 'pan')
  return `${text(inputs, 'pan12')}0`
}

/** Optional bytes. */
export function optionalBytes(inputs: Inputs, name: string): Buffer | undefined {
  return inputs[name] === undefined ? undefined : bytes(inputs, name)
}

/** Optional hexadecimal digits, one per byte. */
export function optionalNibbles(inputs: Inputs, name: string): Buffer | undefined {
  if (inputs[name] === undefined) return undefined
  const digits = text(inputs, name)
  if (!/^[0-9A-Fa-f]*$/.test(digits)) throw new RangeError('not hexadecimal')
  return Buffer.from(Array.from(digits, (digit) => Number.parseInt(digit, 16)))
}

/** The leftmost digits of bytes; a file may have an odd number. */
export class HexDigits {
  readonly digits: string

  constructor(bytes: Uint8Array, count: number) {
    this.digits = Buffer.from(bytes).toString('hex').slice(0, count)
  }
}

/** Returns a number, or `otherwise` if the row has none. */
export function numberOr(inputs: Inputs, name: string, otherwise: number): number {
  const value = inputs[name] ?? otherwise
  if (typeof value !== 'number') throw new RangeError('not a number')
  return value
}

/** A list of bytes in hexadecimal. */
export function bytesList(inputs: Inputs, name: string): readonly Buffer[] {
  const list = inputs[name]
  if (!Array.isArray(list)) throw new UnreadableRow()
  return list.map((item: unknown) => bytes({ item }, 'item'))
}

/** A JSON object. */
export function object(inputs: Inputs, name: string): Inputs {
  const value = inputs[name]
  if (!isObject(value)) throw new UnreadableRow()
  return value
}

/** Whether a JSON value is an object. */
function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function hexadecimal(digits: string): Buffer {
  if (!/^(?:[0-9A-Fa-f]{2})*$/.test(digits)) throw new RangeError('not hexadecimal')
  return Buffer.from(digits, 'hex')
}

/**
 * Reads a file of Project Wycheproof in its published form (`rsaes_oaep_decrypt_schema_v1.json`, to
 * be downloaded from the project); null if malformed.
 */
function readWycheproofFile(content: Readonly<Record<string, unknown>>): VectorFile | null {
  const { schema, testGroups } = content
  if (typeof schema !== 'string' || !schema.startsWith('rsaes_oaep_decrypt_schema')) return null
  if (!Array.isArray(testGroups)) return null
  const groups = testGroups.filter(isObject)
  return {
    primitive: `${content.algorithm} of Project Wycheproof`,
    rows: groups.flatMap(listRows),
    malformed: [],
  }
}

function listRows({ tests, sha, mgfSha, privateKeyPkcs8 }: Readonly<Record<string, unknown>>) {
  const der = Buffer.from(String(privateKeyPkcs8), 'hex')
  const jwk = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }).export({ format: 'jwk' })
  const hashes = [sha, mgfSha].join(' and ')
  // Other hashes than ours are listed as skipped.
  const op = hashes === 'SHA-256 and SHA-256' ? 'rsaOaepDecrypt' : `rsaOaepDecrypt with ${hashes}`
  return (Array.isArray(tests) ? tests : []).filter(isObject).map(
    (test): VectorRow => ({
      id: `tcId ${test.tcId}`,
      name: String(test.comment),
      op,
      inputs: { jwk, ciphertext: test.ct, label: test.label },
      expected: test.result === 'valid' ? { message: test.msg } : { error: String(test.flags) },
      provenance: 'published',
    }),
  )
}
