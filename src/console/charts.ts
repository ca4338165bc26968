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

const size = { width: 640, height: 190, left: 44, bottom: 24, top: 10 } as const
const inner = { width: size.width - size.left - 6, height: size.height - size.bottom - size.top }
/** Series are coloured by position; the style sheet has six colours. */
const colours = 6
const selectColour = (at: number): string => `series-${(at % colours) + 1}`

/** Returns a round number that no value exceeds. */
function roundUp(values: readonly number[]): number {
  const most = Math.max(1, ...values)
  const power = 10 ** Math.floor(Math.log10(most))
  return ([1, 2, 5, 10].find((each) => each * power >= most) ?? 10) * power
}

const round = (value: number): number => Math.round(value * 10) / 10

const numbers = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })

/** Draws values over time as stacked bars. */
export function stackedBars(drawing: Drawing): Html {
  const { points, series } = drawing
  const totals = points.map(({ values }) =>
    values.reduce<number>((sum, each) => sum + (each ?? 0), 0),
  )
  const ceiling = roundUp(totals)
  const step = inner.width / Math.max(1, points.length)
  const bars = points.map(({ values }, at) => {
    let height = 0
    return values.map((value, of) => {
      const tall = ((value ?? 0) / ceiling) * inner.height
      height += tall
      const [x, y] = [size.left + at * step, size.top + inner.height - height]
      return (
        tall > 0 &&
        html`<rect class="${selectColour(of)}" x="${round(x + 0.5)}" y="${round(y)}"
          width="${round(Math.max(1, step - 1))}" height="${round(tall)}"/>`
      )
    })
  })
  return figure(
    drawing,
    totals.some((total) => total > 0),
    [grid(ceiling, points), bars],
    series,
  )
}

/** Draws values over time, one line per series. */
export function lines(drawing: Drawing): Html {
  const { points, series } = drawing
  const measured = points.flatMap(({ values }) => values.filter((each) => each !== null))
  const ceiling = roundUp(measured)
  const step = inner.width / Math.max(1, points.length - 1)
  const drawn = series.map((_, of) => {
    let isOpen = false
    const path = points.map(({ values }, at) => {
      const value = values[of] ?? null
      const [x, y] = [
        round(size.left + at * step),
        round(size.top + inner.height * (1 - (value ?? 0) / ceiling)),
      ]
      const command = value === null ? '' : `${isOpen ? 'L' : 'M'}${x} ${y}`
      isOpen = value !== null
      return command
    })
    return html`<path class="line ${selectColour(of)}" d="${path.join('')}"/>`
  })
  return figure(drawing, measured.length > 0, [grid(ceiling, points), drawn], series)
}

/** Draws three labelled heights and the labels of the first, the middle and the last position. */
function grid(ceiling: number, points: readonly Point[]): Content {
  const heights = [0, 0.5, 1].map((share) => {
    const y = round(size.top + inner.height * (1 - share))
    const value = numbers.format(ceiling * share)
    return html`<line class="grid" x1="${size.left}" x2="${size.width - 6}" y1="${y}" y2="${y}"/>
      <text x="${size.left - 6}" y="${y + 4}" text-anchor="end">${value}</text>`
  })
  const last = points.length - 1
  const shown = [...new Set([0, Math.floor(last / 2), last])].filter((at) => at >= 0)
  const labels = shown.map((at) => {
    const x = size.left + (last === 0 ? 0 : (at / last) * inner.width)
    const anchor = at === 0 ? 'start' : at === last ? 'end' : 'middle'
    return html`<text x="${round(x)}" y="${size.height - 6}"
      text-anchor="${anchor}">${points[at]?.label}</text>`
  })
  return [heights, labels]
}

function figure(
  { empty, points, rowTitle, title }: Drawing,
  isMeasured: boolean,
  drawn: Content,
  series: readonly string[],
): Html {
  if (!isMeasured) return html`<figure><p class="empty">${empty}</p></figure>`
  const legend = series.map(
    (name, of) => html`<span class="key ${selectColour(of)}"><span>${name}</span></span>`,
  )
  const columns = series.map((name) => html`<th scope="col" class="number">${name}</th>`)
  return html`<figure>
    <svg class="chart" viewBox="0 0 ${size.width} ${size.height}" role="img" aria-label="${title}">
      ${drawn}
    </svg>
    <figcaption>${legend}</figcaption>
    <details>
      <summary>As a table</summary>
      <div class="scroll" tabindex="0" role="region" aria-label="${title}">
        <table>
          <thead><tr><th scope="col">${rowTitle}</th>${columns}</tr></thead>
          <tbody>${points.map(pointRow)}</tbody>
        </table>
      </div>
    </details>
  </figure>`
}

const pointRow = ({ label, values }: Point): Content =>
  html`<tr>
    <th scope="row">${label}</th>
    ${values.map((value) => html`<td class="number">${numberText(value)}</td>`)}
  </tr>`

const numberText = (value: number | null): string => (value === null ? '–' : numbers.format(value))
