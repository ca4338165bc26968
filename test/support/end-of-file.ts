/** What a test file leaves open is closed after its last test. */
import { after } from 'node:test'

const closers: (() => unknown)[] = []

/** For what is opened on behalf of tests: called after the last test of the file. */
export const atEndOfFile = (close: () => unknown): void => {
  closers.push(close)
}

/** One after the other, all of them, also where one of them fails. */
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

export const endFile = (): Promise<void> => closeAll(closers)

after(endFile)
