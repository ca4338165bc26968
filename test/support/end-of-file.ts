/**
 * What a test file leaves open is closed after its last test: when its process ends, or when the next
 * file of the same process begins (`together.ts`).
 */
import { after } from 'node:test'

const closers: (() => unknown)[] = []

/** For a module that opens things on behalf of tests: called after each file, with nothing open too. */
export const atEndOfFile = (close: () => unknown): void => {
  closers.push(close)
}

export const endFile = async (): Promise<void> => {
  for (const close of closers) await close()
}

after(endFile)
