import { CryptoRefusal } from '../crypto/refusal.ts'
import { Problem } from '../errors.ts'
import { KeyRefusal } from './key-strength.ts'

/** What a key or block is refused for is told; what failed inside a block is not. */
export async function orProblem<Result>(work: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof KeyRefusal) throw new Problem('key_refused', { detail: error.message })
    if (error instanceof CryptoRefusal) throw new Problem('key_refused', { detail: unusable })
    throw error
  }
}

/** What is told of a key block that did not unwrap: never which part of it was wrong. */
export const unusable = 'The key block is not one under this key, or not whole.'
