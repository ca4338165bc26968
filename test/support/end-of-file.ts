/**
 * What a test file leaves open is closed after its last test: when its process ends, or when the next
 * file of the same process begins (`together.ts`).
 */
import { after } from 'node:test'

const closers: (() => unknown)[] = []
const lastClosers: (() => unknown)[] = []

/** For a module that opens things on behalf of tests: called after each file, with nothing open too. */
export const atEndOfFile = (close: () => unknown): void => {
  closers.push(close)
}

/** The same after the last file of the process: for what its files share. */
export const atEndOfProcess = (close: () => unknown): void => {
  lastClosers.push(close)
}

export const endFile = (): Promise<void> => closeAll(closers)

/** One after the other, all of them: what one leaves open would be the next file's. */
export const closeAll = async (all: readonly (() => unknown)[]): Promise<void> => {
  const failures: unknown[] = []
  for (const close of all) {
    try {
      await close()
    } catch (error) {
      failures.push(error)
    }
  }
  if (failures.length === 0) return
  // Of errors within errors a reporter shows no more than the outer ones.
  const reasons = failures.map((failure) => (failure instanceof Error ? failure.message : failure))
  throw new AggregateError(failures, `Not all could be closed: ${reasons.join(' ')}`)
}

after(endFile)
after(() => closeAll(lastClosers))
