/** How many cases a property is tried on: one place, so that a night may try more than a push. */

type Cases = { readonly numRuns: number; readonly seed?: number }

/** Enough to see a mutant by, and the same for every mutant. */
const few: Cases = { numRuns: 50, seed: 42 }

/**
 * What `fc.assert` is given. `PROPERTY_CASES=nightly` tries the greater number, `PROPERTY_CASES=few`
 * is for programs that run the same tests again and again, as mutation testing does.
 */
export const cases = (always: number, nightly = always): Cases => {
  const asked = process.env.PROPERTY_CASES ?? 'always'
  if (asked === 'few') return { ...few, numRuns: Math.min(always, few.numRuns) }
  if (asked === 'always') return { numRuns: always }
  if (asked === 'nightly') return { numRuns: nightly }
  throw new Error(`PROPERTY_CASES is few, always or nightly, not ${asked}.`)
}

/** Whether what takes minutes is asked for. */
export const isNightly = process.env.PROPERTY_CASES === 'nightly'
