import { randomInt } from 'node:crypto'

/** Draws so many decimal digits. */
export type DigitSource = (count: number) => string

/** Unpredictable digits without bias: `randomInt` draws again where a remainder would favour some. */
export const randomDigits: DigitSource = (count) =>
  Array.from({ length: count }, () => randomInt(10)).join('')
