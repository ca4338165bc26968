/** The members of a row's `inputs`, as JSON has them. */
export type Inputs = Readonly<Record<string, unknown>>

/** What an operation makes of a row: bytes stay bytes, whatever case the file writes them in. */
export type Answer = Readonly<Record<string, unknown>>

/** One `op` of the vector files. It refuses by throwing. */
export type Operation = (inputs: Inputs, primitive: string) => Answer | Promise<Answer>

/** A row that does not have the inputs of its operation: it proves nothing, so it fails. */
export class UnreadableRow extends Error {}

/** A row that asks for something that the code does not have: it is skipped and named. */
export class UncoveredRow extends Error {}

/** Text, perhaps empty, under the first of the names that is there; no other type is coerced. */
export function text(inputs: Inputs, ...names: readonly string[]): string {
  const value = names.map((name) => inputs[name]).find((input) => input !== undefined)
  if (value === undefined) throw new UnreadableRow()
  if (typeof value !== 'string') throw new RangeError('not text')
  return value
}

/** Bytes in hexadecimal; what is not hexadecimal is refused, as at any edge of the product. */
export function bytes(inputs: Inputs, ...names: readonly string[]): Buffer {
  return hexadecimal(text(inputs, ...names))
}

/** A PAN, or one with the 12 digits that formats 0 and 3 take of it where the row has no more. */
export function panOf(inputs: Inputs): string {
  if (inputs.pan !== undefined || inputs.pan12 === undefined) return text(inputs, 'pan')
  return `${text(inputs, 'pan12')}0`
}

/** Bytes that a row may leave out. */
export function optionalBytes(inputs: Inputs, name: string): Buffer | undefined {
  return inputs[name] === undefined ? undefined : bytes(inputs, name)
}

/** Hexadecimal digits, one a byte, that a row may leave out. */
export function optionalNibbles(inputs: Inputs, name: string): Buffer | undefined {
  if (inputs[name] === undefined) return undefined
  const digits = text(inputs, name)
  if (!/^[0-9A-Fa-f]*$/.test(digits)) throw new RangeError('not hexadecimal')
  return Buffer.from(Array.from(digits, (digit) => Number.parseInt(digit, 16)))
}

/** The leftmost digits of bytes, of which a file may want an odd number. */
export class HexDigits {
  readonly digits: string

  constructor(bytes: Uint8Array, count: number) {
    this.digits = Buffer.from(bytes).toString('hex').slice(0, count)
  }
}

/** A number, or `otherwise` where the row has none. */
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
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function hexadecimal(digits: string): Buffer {
  if (!/^(?:[0-9A-Fa-f]{2})*$/.test(digits)) throw new RangeError('not hexadecimal')
  return Buffer.from(digits, 'hex')
}
