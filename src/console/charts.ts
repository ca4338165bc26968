import { type Content, type Html, html } from '../listeners/http/html.ts'

/**
 * The texts of a chart. The server draws it, and a table has the same values for screen readers.
 */
interface ChartText {
  readonly title: string
  /** The title of the table's first column: `Hour`. */
  readonly rowTitle: string
  /** The text shown without measurements. */
  readonly empty: string
  /** The unit of the values; none for counts. */
  readonly unit?: string
  /** The zone of the positions; none for months. */
  readonly zone?: 'UTC'
}

/** A row of the table, and a position along the chart. */
interface Point {
  readonly label: string
  /** A value for each series; null without a measurement. */
  readonly values: readonly (number | null)[]
}

interface Drawing extends ChartText {
  readonly series: readonly string[]
  readonly points: readonly Point[]
}

/**
 * The drawing stretches to the width of its place, so that its labels are texts of the page: they
 * keep their size on a telephone.
 */
const size = { width: 1_000, height: 100 } as const
/** Series are coloured by position; the style sheet has six colours. */
const colours = 6
const selectColour = (at: number): string => `series-${(at % colours) + 1}`

/** Returns a round number that no value exceeds. */
function roundUp(values: readonly number[]): number {
  const most = Math.max(1, ...values)
  const power = 10 ** Math.floor(Math.log10(most))
  return ([1, 2, 3, 4, 5, 6, 8, 10].find((each) => each * power >= most) ?? 10) * power
}

const round = (value: number): number => Math.round(value * 10) / 10

const numbers = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })
const shortNumbers = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })

/** Draws values over time as stacked bars. */
export function stackedBars(drawing: Drawing): Html {
  const { points } = drawing
  const totals = points.map(({ values }) =>
    values.reduce<number>((sum, each) => sum + (each ?? 0), 0),
  )
  const ceiling = roundUp(totals)
  const step = size.width / Math.max(1, points.length)
  const gap = Math.min(6, step / 4)
  const bars = points.map(({ values }, at) => {
    let height = 0
    return values.map((value, of) => {
      const tall = ((value ?? 0) / ceiling) * size.height
      height += tall
      return (
        tall > 0 &&
        html`<rect class="${selectColour(of)}" x="${round(at * step + gap / 2)}"
          y="${round(size.height - height)}" width="${round(step - gap)}"
          height="${round(tall)}"/>`
      )
    })
  })
  return figure(
    drawing,
    totals.some((total) => total > 0),
    ceiling,
    bars,
  )
}

/** Draws values over time, one line per series. */
export function lines(drawing: Drawing): Html {
  const { points, series } = drawing
  const measured = points.flatMap(({ values }) => values.filter((each) => each !== null))
  const ceiling = roundUp(measured)
  const step = size.width / Math.max(1, points.length - 1)
  const drawn = series.map((_, of) => {
    let isOpen = false
    const path = points.map(({ values }, at) => {
      const value = values[of] ?? null
      const x = round(at * step)
      const y = round(size.height * (1 - (value ?? 0) / ceiling))
      const command = value === null ? '' : `${isOpen ? 'L' : 'M'}${x} ${y}`
      isOpen = value !== null
      return command
    })
    return html`<path class="line ${selectColour(of)}" d="${path.join('')}"/>`
  })
  return figure(drawing, measured.length > 0, ceiling, drawn)
}

function figure(drawing: Drawing, isMeasured: boolean, ceiling: number, drawn: Content): Html {
  const { empty, points, series, title, unit = '', zone = '' } = drawing
  if (!isMeasured) return html`<figure><p class="empty">${empty}</p></figure>`
  const legend = series.map(
    (name, of) => html`<span class="key ${selectColour(of)}"><span>${name}</span></span>`,
  )
  const heights = [1, 0.5, 0].map((share) => {
    const y = size.height * (1 - share)
    return html`<line class="grid" x1="0" x2="${size.width}" y1="${y}" y2="${y}"/>`
  })
  const last = points.length - 1
  const shown = [...new Set([0, Math.floor(last / 2), last])]
  return html`<figure>
    <figcaption>${legend}</figcaption>
    <div class="plot">
      <p class="heights" aria-hidden="true">
        ${[ceiling, ceiling / 2, 0].map((value) => html`<span>${heightText(value, unit)}</span>`)}
      </p>
      <svg class="chart" viewBox="0 0 ${size.width} ${size.height}" preserveAspectRatio="none"
        role="img" aria-label="${title}">
        ${heights}${drawn}
      </svg>
      <p class="positions" aria-hidden="true">
        ${shown.map((at) => html`<span>${points[at]?.label}${at === last && ` ${zone}`}</span>`)}
      </p>
    </div>
    ${valueTable(drawing)}
  </figure>`
}

/** A count has no halves: its height has no text. */
const heightText = (value: number, unit: string): string =>
  unit !== '' || Number.isInteger(value) ? `${shortNumbers.format(value)}${unit}` : ''

const valueTable = ({ points, rowTitle, series, title }: Drawing): Html =>
  html`<details>
    <summary>As a table</summary>
    <div class="scroll" tabindex="0" role="region" aria-label="${title}">
      <table>
        <thead><tr>
          <th scope="col">${rowTitle}</th>
          ${series.map((name) => html`<th scope="col" class="number">${name}</th>`)}
        </tr></thead>
        <tbody>${points.map(pointRow)}</tbody>
      </table>
    </div>
  </details>`

const pointRow = ({ label, values }: Point): Content =>
  html`<tr>
    <th scope="row">${label}</th>
    ${values.map((value) => html`<td class="number">${numberText(value)}</td>`)}
  </tr>`

const numberText = (value: number | null): string => (value === null ? '–' : numbers.format(value))
