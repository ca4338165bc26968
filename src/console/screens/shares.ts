import { type Html, html } from '../../listeners/http/html.ts'
import type { Tone } from '../desk-parts.ts'

/** A part of a whole, coloured by its meaning. */
export interface Share {
  readonly count: number
  readonly tone: Tone
}

/** Draws the parts of a whole as one bar. The text beside it says the same. */
export function shares(parts: readonly Share[]): Html {
  const whole = parts.reduce((sum, { count }) => sum + count, 0)
  let end = 0
  const drawn = parts.map(({ count, tone }) => {
    const start = end
    end += whole === 0 ? 0 : (100 * count) / whole
    return (
      count > 0 &&
      html`<rect class="share-${tone}" x="${start.toFixed(2)}" width="${(end - start).toFixed(2)}"
        height="4"/>`
    )
  })
  return html`<svg class="bar shares" viewBox="0 0 100 4" preserveAspectRatio="none"
    aria-hidden="true"><rect class="track" width="100" height="4"/>${drawn}</svg>`
}
