import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import test from 'node:test'
import { composeChipData, parseChipData } from '../../src/domain/chip-data.ts'

const read = (hex: string) => parseChipData(Buffer.from(hex, 'hex'))

const digits = (hex: string) => {
  const parsed = read(hex)
  assert.ok('tags' in parsed, JSON.stringify(parsed))
  return [...parsed.tags].map(([tag, value]) => [tag, Buffer.from(value).toString('hex')])
}

test('tags of one, two and three bytes are read with their values', () => {
  assert.deepEqual(digits('9f2608' + '1122334455667788' + '9500' + 'df810101aa'), [
    ['9F26', '1122334455667788'],
    ['95', ''],
    ['DF8101', 'aa'],
  ])
})

test('a length of two bytes is read', () => {
  const value = 'ab'.repeat(200)
  assert.deepEqual(digits(`7281c8${value}`), [['72', value]])
})

const faults = [
  ['', 'empty'],
  ['95'.repeat(300), 'too_long'],
  ['00', 'bad_tag'],
  ['ff0100', 'bad_tag'],
  ['9f', 'bad_tag'],
  ['9f818181810100', 'bad_tag'],
  ['95', 'bad_length'],
  ['950500000000', 'bad_length'],
  ['9580', 'bad_length'],
  ['95820001aa', 'bad_length'],
  ['9581', 'bad_length'],
  ['9c01009c0100', 'repeated_tag'],
] as const

for (const [hex, fault] of faults) {
  test(`${hex.slice(0, 20) || 'nothing'} is refused: ${fault}`, () => {
    assert.deepEqual(read(hex), { fault })
  })
}

test('what is composed is read again, and no bytes break the reader', () => {
  for (let count = 0; count < 10_000; count += 1) {
    const parsed = parseChipData(randomBytes(1 + (count % 80)))
    if (!('tags' in parsed)) continue
    const again = parseChipData(composeChipData(parsed.tags))
    assert.deepEqual(again, parsed)
  }
})
