import assert from 'node:assert/strict'
import test from 'node:test'
import { binRangeOf, binRanges, rangesOfScheme } from '../../src/domain/pan.ts'
import vectorFile from '../vectors/luhn-pan.json' with { type: 'json' }

const notation = (spans: readonly (readonly [string, string])[]): string =>
  spans.map(([low, high]) => (low === high ? low : `${low}-${high}`)).join(',')

for (const { id, op, inputs, expected } of vectorFile.vectors) {
  // The national numbers of major industry 9 belong to no network.
  if (op !== 'binRange' || inputs.network?.startsWith('national')) continue
  test(`${id}: the range of ${inputs.network} is as published`, () => {
    const range = binRanges.find(({ name }) => name === inputs.network)
    assert.equal(range && notation(range.prefixes), expected.prefixes)
    assert.equal(range && notation(range.lengths), expected.lengths)
  })
}

test('published test numbers lie in the range of their network', () => {
  assert.equal(binRangeOf('4242424242424242')?.name, 'visa')
  assert.equal(binRangeOf('2223003122003222')?.name, 'mastercard-2')
  assert.equal(binRangeOf('378282246310005')?.name, 'amex')
  assert.equal(binRangeOf('3056930009020004')?.name, 'diners')
  assert.equal(binRangeOf('6011000990139424')?.name, 'discover')
  assert.equal(binRangeOf('9999999999999999'), null)
  assert.equal(binRangeOf('424242424242424'), null)
  // Fewer digits than a range begins with.
  assert.equal(binRangeOf('2'), null)
})

test('a scheme is known in any case and with all its ranges', () => {
  assert.deepEqual(
    rangesOfScheme('Mastercard').map(({ name }) => name),
    ['mastercard', 'mastercard-2'],
  )
  assert.deepEqual(rangesOfScheme('House Card'), [])
})
