import { type Html, html } from '../../listeners/http/html.ts'

/** From which part of its limit a use is shown as a warning. */
const warnFrom = 0.8

/** Draws the used part of a limit. The text beside it says the same. */
export function bar(used: number, of: number): Html {
  const part = of === 0 ? 1 : Math.min(1, used / of)
  const tone = part >= 1 ? 'full' : part >= warnFrom ? 'near' : 'free'
  const width = Math.round(part * 1000) / 10
  return html`<svg class="bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
    <rect class="track" width="100" height="4"/>
    ${width > 0 && html`<rect class="${tone}" width="${width}" height="4"/>`}
  </svg>`
}

/** The most dots in a row. */
const dotsMost = 10

/** Draws tries as dots, the remaining ones filled. The text beside them says the same. */
export function dots(left: number, of: number): Html | null {
  if (of > dotsMost) return null
  const drawn = Array.from(
    { length: of },
    (_, at) => html`<i class="${at < left ? 'dot' : 'dot spent'}"></i>`,
  )
  return html`<span class="dots" aria-hidden="true">${drawn}</span>`
}
