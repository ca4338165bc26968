/** How many cases a property is tried on: one place, so that a night may try more than a push. */

type Cases = { readonly numRuns: number }

/** What `fc.assert` is given. `PROPERTY_CASES=nightly` tries the greater number. */
export const cases = (always: number, nightly = always): Cases => {
  const asked = process.env.PROPERTY_CASES ?? 'always'
  if (asked === 'always') return { numRuns: always }
  if (asked === 'nightly') return { numRuns: nightly }
  throw new Error(`PROPERTY_CASES is always or nightly, not ${asked}.`)
}

/** Whether what takes minutes is asked for. */
export const isNightly = process.env.PROPERTY_CASES === 'nightly'
