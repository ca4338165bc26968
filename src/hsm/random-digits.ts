import type { KeyEngine } from './key-engine.ts'

/** Draws so many decimal digits. */
export type DigitSource = (count: number) => string | Promise<string>

/** The greatest multiple of ten that a byte can be below: others would favour the low digits. */
const fairBytes = 250

/** Digits without bias from unpredictable bytes. */
export const randomDigits =
  (random: KeyEngine['random']): DigitSource =>
  async (count) => {
    let digits = ''
    while (digits.length < count) {
      // A few more than are wanted, because one byte in 43 is thrown away.
      const bytes = Array.from(await random(count + 4)).filter((byte) => byte < fairBytes)
      digits += bytes.map((byte) => byte % 10).join('')
    }
    return digits.slice(0, count)
  }
