import { refuse } from './refusal.ts'

/** An optional block of a key block's header, without its length field (X9.143:2021 6.3.6). */
type OptionalBlock = {
  /** Two letters or digits, such as `KS`. */
  readonly id: string
  /** Printable ASCII. */
  readonly content: string
}

/** The attributes of the key in a key block (X9.143:2021 6.2, table 1). */
export type KeyBlockHeader = {
  /** The protection of the block: `B` by TDES, `D` by AES. */
  readonly version: 'B' | 'D'
  /** Two characters, such as `P0` for a PIN encryption key. */
  readonly keyUsage: string
  /** `A` for AES, `T` for TDES, and others. */
  readonly algorithm: string
  /** Such as `E`, `D`, `B`, `V`, `N`. */
  readonly modeOfUse: string
  /** Two characters; `00` if versions are not used. */
  readonly keyVersion: string
  /** `E`, `N` or `S`. */
  readonly exportability: string
  /** Two characters, the first of them the key context; usually `00`. */
  readonly reserved: string
  readonly optionalBlocks: readonly OptionalBlock[]
}

/** Characters of usage, algorithm, mode of use, key version, exportability, reserved. */
const fieldLengths = [2, 1, 1, 2, 1, 2]

/** Characters before the first optional block. */
const fixedLength = 16

/** The id of the padding block, which extends the header to a multiple of the cipher's block. */
const paddingId = 'PB'

/** The block length of the cipher by version. The length of a header is a multiple of it. */
export const keyBlockUnit: Record<KeyBlockHeader['version'], 8 | 16> = { B: 8, D: 16 }

/**
 * Version, length, usage, algorithm, mode, key version, exportability, number of blocks, reserved.
 */
const fixed =
  /^[BD][0-9]{4}[A-Za-z0-9]{2}[A-Za-z0-9][A-Za-z0-9][A-Za-z0-9]{2}[A-Za-z0-9][0-9]{2}[A-Za-z0-9]{2}/

/**
 * Parses a header without a block.
 *
 * @param text at least 16 characters; its length field is not checked.
 * @throws CryptoRefusal `key_block_refused` if it is malformed or has trailing characters.
 */
export function parseKeyBlockHeader(text: string): KeyBlockHeader {
  const { header, headerText } = readKeyBlockHeader(text)
  return headerText.length === text.length ? header : refuse('key_block_refused')
}

/**
 * Reads the header at the start of a key block.
 *
 * @returns the header, its text, and the length of the whole block by its length field.
 * @throws CryptoRefusal `key_block_refused` if it is malformed.
 */
export function readKeyBlockHeader(block: string): {
  readonly header: KeyBlockHeader
  readonly headerText: string
  readonly blockLength: number
} {
  if (!fixed.test(block)) refuse('key_block_refused')
  const { optionalBlocks, end } = readOptionalBlocks(block, Number(block.slice(12, 14)))
  const header: KeyBlockHeader = {
    version: block.startsWith('B') ? 'B' : 'D',
    keyUsage: block.slice(5, 7),
    algorithm: block.slice(7, 8),
    modeOfUse: block.slice(8, 9),
    keyVersion: block.slice(9, 11),
    exportability: block.slice(11, 12),
    reserved: block.slice(14, 16),
    optionalBlocks,
  }
  return { header, headerText: block.slice(0, end), blockLength: Number(block.slice(1, 5)) }
}

function readOptionalBlocks(
  text: string,
  count: number,
): { readonly optionalBlocks: readonly OptionalBlock[]; readonly end: number } {
  const optionalBlocks: OptionalBlock[] = []
  let end = fixedLength
  while (optionalBlocks.length < count) {
    const { next, ...optionalBlock } = readOptionalBlock(text, end)
    optionalBlocks.push(optionalBlock)
    end = next
  }
  return { optionalBlocks, end }
}

/** Reads the optional block at a position; also returns the position of the next block. */
function readOptionalBlock(text: string, at: number): OptionalBlock & { readonly next: number } {
  const short = /^(?<id>[A-Za-z0-9]{2})(?<length>[0-9A-F]{2})/.exec(text.slice(at, at + 4))?.groups
  const { id = '', length = '' } = short ?? refuse('key_block_refused')
  const field = length === '00' ? readExtendedLength(text, at + 4) : { length, begin: at + 4 }
  const next = at + Number.parseInt(field.length, 16)
  const content = text.slice(field.begin, Math.max(next, field.begin))
  const isWhole = next >= field.begin && next <= text.length
  if (!isWhole || !/^[\x20-\x7e]*$/.test(content)) refuse('key_block_refused')
  return { id, content, next }
}

/** Reads a length that begins with its own number of bytes (X9.143:2021 6.3.6). */
function readExtendedLength(text: string, at: number): { length: string; begin: number } {
  // A whole block has at most 9,999 characters, so a field of more than four bytes is not a length.
  if (!/^0[1-4]$/.test(text.slice(at, at + 2))) refuse('key_block_refused')
  const bytes = Number(text.slice(at, at + 2))
  const begin = at + 2 + 2 * bytes
  const length = text.slice(at + 2, begin)
  const isLength = length.length === 2 * bytes && /^[0-9A-F]+$/.test(length)
  return isLength ? { length, begin } : refuse('key_block_refused')
}

/**
 * Writes a header in its normal form: short lengths where they fit, and one padding block at the
 * end, only if it is needed (X9.143:2021 6.3.6, block `PB`).
 *
 * @param followingLength characters that follow the header in its block; 0 for a header without a
 *   block.
 * @throws CryptoRefusal `key_block_refused` if a field is malformed or the block exceeds 9,999
 *   characters.
 */
export function writeKeyBlockHeader(header: KeyBlockHeader, followingLength = 0): string {
  const contents = header.optionalBlocks
    .filter(({ id }) => id !== paddingId)
    .map(({ id, content }) => {
      const short = 4 + content.length
      return short <= 0xff
        ? `${id}${hexadecimal(short, 2)}${content}`
        : `${id}0002${hexadecimal(10 + content.length, 4)}${content}`
    })
  const blocks = withPadding(contents, keyBlockUnit[header.version])
  const length = fixedLength + blocks.join('').length + followingLength
  const { version, keyUsage, algorithm, modeOfUse, keyVersion, exportability, reserved } = header
  const fields = [keyUsage, algorithm, modeOfUse, keyVersion, exportability, reserved]
  const isSized = fields.every((field, at) => field.length === fieldLengths[at])
  if (!isSized || blocks.length > 99 || length > 9999) refuse('key_block_refused')
  const count = String(blocks.length).padStart(2, '0')
  const attributes = `${keyUsage}${algorithm}${modeOfUse}${keyVersion}${exportability}`
  const start = `${version}${String(length).padStart(4, '0')}${attributes}${count}${reserved}`
  const text = `${start}${blocks.join('')}`
  // Parsing the result refuses characters that are invalid in a header.
  parseKeyBlockHeader(text)
  return text
}

function withPadding(blocks: readonly string[], unit: number): readonly string[] {
  const over = (fixedLength + blocks.join('').length) % unit
  if (over === 0) return blocks
  // A padding block has at least four characters.
  const length = unit - over < 4 ? 2 * unit - over : unit - over
  return [...blocks, `${paddingId}${hexadecimal(length, 2)}${'0'.repeat(length - 4)}`]
}

function hexadecimal(value: number, digits: number): string {
  return value.toString(16).toUpperCase().padStart(digits, '0')
}
