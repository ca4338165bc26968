/** Text in a page is text, whatever it says; charts say in a table what they draw. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lines, stackedBars } from '../../src/console/charts.ts'
import { html } from '../../src/listeners/http/html.ts'

const hostile = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "' autofocus onfocus='alert(1)",
  '&lt;b&gt; & &#39;',
  '</title></textarea>--><!--',
  '`\\u003c$',
]

/** What a browser reads of escaped text. */
const read = (markup: string): string =>
  markup
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')

test('no text opens a tag, closes one or leaves its attribute, and every text is read as it was written', () => {
  for (const text of hostile) {
    const inElement = String(html`<p>${text}</p>`)
    assert.match(inElement, /^<p>[^<>"']*<\/p>$/)
    assert.equal(read(inElement.slice(3, -4)), text)
    const inAttribute = String(html`<a title="${text}">x</a>`)
    assert.match(inAttribute, /^<a title="[^<>"']*">x<\/a>$/)
    assert.equal(read(inAttribute.slice(10, -7)), text)
  }
})

test('nested markup is not escaped, and an absent value renders nothing', () => {
  const item = (name: string) => html`<li>${name}</li>`
  const list = html`<ul>${[[item('<1>')], [[item('2')]]]}${null}${undefined}${false}${0}</ul>`
  assert.equal(String(list), '<ul><li>&lt;1&gt;</li><li>2</li>0</ul>')
})

const drawn = {
  title: 'Calls <by> hour',
  rowTitle: 'Hour',
  empty: 'Nothing was measured.',
  series: ['Approved & done', 'Declined'],
}

test('a chart has a name and a table of what it draws, its labels as text', () => {
  const points = [
    { label: '00:00', values: [3, 1] },
    { label: '<01:00>', values: [0, 12] },
  ]
  for (const chart of [
    String(stackedBars({ ...drawn, points })),
    String(lines({ ...drawn, points })),
  ]) {
    assert.match(chart, /<svg [^>]*role="img" aria-label="Calls &lt;by&gt; hour">/)
    const cells = [...chart.matchAll(/<t[dh][^>]*>([^<]*)<\/t[dh]>/g)].map(([, text]) => text)
    assert.deepEqual(cells, [
      ...['Hour', 'Approved &amp; done', 'Declined'],
      ...['00:00', '3', '1', '&lt;01:00&gt;', '0', '12'],
    ])
  }
})

test('bars stand upon one another up to the height of their sum, and none is higher than its chart', () => {
  const points = [{ label: '00:00', values: [30, 20] }]
  const chart = String(stackedBars({ ...drawn, points }))
  const bars = [...chart.matchAll(/<rect [^>]*y="([\d.]+)"[^>]*height="([\d.]+)"/g)].map(
    ([, y, height]) => ({ top: Number(y), bottom: Number(y) + Number(height) }),
  )
  assert.equal(bars.length, 2)
  assert.ok(Math.abs((bars[0]?.top ?? 0) - (bars[1]?.bottom ?? 0)) < 0.2)
  assert.ok((bars[1]?.top ?? -1) >= 0)
})

test('a line is broken where nothing was measured, and a chart of nothing says so', () => {
  const points = [1, null, 2, 3].map((value, at) => ({ label: String(at), values: [value] }))
  const chart = String(lines({ ...drawn, series: ['Half'], points }))
  const [, path = ''] = /<path [^>]*d="([^"]*)"/.exec(chart) ?? []
  assert.deepEqual(path.match(/[ML]/g), ['M', 'M', 'L'])
  assert.match(chart, /–/)
  for (const nothing of [[], [{ label: '0', values: [null, null] }]]) {
    assert.equal(
      String(lines({ ...drawn, points: nothing })),
      '<figure><p class="empty">Nothing was measured.</p></figure>',
    )
  }
})

test('a height of a chart of counts is a whole number, and is left out otherwise', () => {
  const heights = (drawing: { unit?: string }) =>
    [
      ...String(lines({ ...drawn, ...drawing, points: [{ label: '0', values: [1, 0] }] })).matchAll(
        /<span>([^<]*)<\/span>/g,
      ),
    ].flatMap(([, text]) => (/^[\d. ms]*$/.test(text ?? '') ? [text] : []))
  assert.deepEqual(heights({}).slice(0, 3), ['1', '', '0'])
  assert.deepEqual(heights({ unit: ' ms' }).slice(0, 3), ['1 ms', '0.5 ms', '0 ms'])
})
