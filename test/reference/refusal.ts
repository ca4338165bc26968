import assert from 'node:assert/strict'

/**
 * Why a reference refuses its inputs. These are the primitives that production does not run: what
 * they throw is not one of its refusals.
 */
export class ReferenceRefusal extends RangeError {
  constructor() {
    super('The inputs are not usable.')
    this.name = 'ReferenceRefusal'
  }
}

/** @throws ReferenceRefusal always. */
export function refuseInputs(): never {
  throw new ReferenceRefusal()
}

/** Runs `operation`; whatever fails in it is refused alike. */
export function orRefuseInputs<Result>(operation: () => Result): Result {
  try {
    return operation()
  } catch {
    return refuseInputs()
  }
}

/** Asserts that a reference refuses its inputs. */
export const refusesInputs = (operation: () => unknown): void =>
  assert.throws(operation, ReferenceRefusal)
