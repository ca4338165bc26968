import { isDeepStrictEqual } from 'node:util'
import { CryptoRefusal } from '../../src/crypto/refusal.ts'
import { cardOperations, domainOperations } from './card-operations.ts'
import { chipOperations } from './chip-operations.ts'
import { jweOperations, keyOperations, rsaOperations } from './key-operations.ts'
import { pinBlockOperations } from './pin-block-operations.ts'
import {
  type Answer,
  HexDigits,
  type Operation,
  UncoveredRow,
  UnreadableRow,
  type VectorRow,
} from './vector-file.ts'

/** The outcome of a row. The reason never contains a value. */
export type Outcome =
  | { readonly result: 'passed' }
  | { readonly result: 'failed' | 'skipped'; readonly reason: string }

const operations: ReadonlyMap<string, Operation> = new Map(
  Object.entries({
    ...pinBlockOperations,
    ...cardOperations,
    ...chipOperations,
    ...keyOperations,
    ...jweOperations,
    ...rsaOperations,
    ...domainOperations,
  }),
)

const passed: Outcome = { result: 'passed' }
const failed = (reason: string): Outcome => ({ result: 'failed', reason })
const skipped = (reason: string): Outcome => ({ result: 'skipped', reason })

/** Runs one row of a vector file. It never throws. */
export async function runRow(row: VectorRow, primitive: string): Promise<Outcome> {
  if (row.op === 'trap' || row.provenance === 'trap') return runTrap(row, primitive)
  const operation = operations.get(row.op)
  if (!operation) return skipped(`the code does not support ${row.op}`)
  try {
    return compare(await operation(row.inputs, primitive), row.expected)
  } catch (error) {
    return compareRefusal(error, row)
  }
}

function compare(answer: Answer, expected: Answer): Outcome {
  if ('error' in expected) return failed('was not refused')
  const members = Object.entries(expected)
  if (members.length === 0) return failed('expects nothing')
  const wrong = members.filter(([name, value]) => !isSame(answer[name], value))
  return wrong.length === 0
    ? passed
    : failed(`another ${wrong.map(([name]) => name).join(', ')} than expected`)
}

function compareRefusal(error: unknown, { expected }: VectorRow): Outcome {
  if (error instanceof UncoveredRow) return skipped('the code has nothing for these inputs')
  if (error instanceof UnreadableRow) return failed('lacks the inputs of its operation')
  // Any other error is a fault of the code, not a refusal.
  const isRefusal = error instanceof CryptoRefusal || error instanceof RangeError
  if (!isRefusal) return failed('broke')
  return 'error' in expected ? passed : failed('was refused')
}

/**
 * Passes when no operation makes the claimed value from the inputs, and one makes the right one:
 * the row's own operation if given.
 */
async function runTrap(row: VectorRow, primitive: string): Promise<Outcome> {
  const { mustNotEqual = row.expected.value } = row.expected
  const { claimed = mustNotEqual, ...others } = row.inputs
  if (typeof claimed !== 'string') return failed('claims nothing')
  const named = operations.get(row.op)
  // A claim without a PAN is tried with the neutral one.
  const inputs = { pan: '0', ...others, random: firstWord(others.random) }
  const made = await Promise.all(
    (named ? [named] : [...operations.values()]).map((operation) =>
      everyValue(operation, inputs, primitive),
    ),
  )
  const values = made.flat()
  // A boolean result is no value that could be claimed.
  const isMade = values.some((value) => typeof value !== 'boolean')
  if (!isMade) return skipped('the code has nothing for these inputs')
  const { correct } = row.expected
  if (values.some((value) => isSame(value, claimed))) return failed('made what it must not make')
  const isRight = correct === undefined || values.some((value) => isSame(value, correct))
  return isRight ? passed : failed('did not make the right value')
}

async function everyValue(
  operation: Operation,
  inputs: Answer,
  primitive: string,
): Promise<readonly unknown[]> {
  try {
    return Object.values(await operation(inputs, primitive))
  } catch {
    return []
  }
}

function firstWord(value: unknown): unknown {
  return typeof value === 'string' ? value.split(' ')[0] : value
}

/** Bytes equal their hexadecimal digits in either case; other values are compared by members. */
function isSame(actual: unknown, expected: unknown): boolean {
  const digits = toDigits(actual)
  if (digits === null) return actual !== undefined && isDeepStrictEqual(actual, expected)
  return typeof expected === 'string' && digits === expected.toLowerCase()
}

function toDigits(actual: unknown): string | null {
  if (actual instanceof HexDigits) return actual.digits
  return Buffer.isBuffer(actual) ? actual.toString('hex') : null
}
