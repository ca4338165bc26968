/** The clear fields that PIN blocks are made of, and the lengths that they have. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodePinBlockFormat1 } from '../../src/crypto/pin-block-format-1.ts'
import { pinFieldFormat3 } from '../../src/crypto/pin-block-format-3.ts'
import { decodePinFieldFormat4, panFieldFormat4 } from '../../src/crypto/pin-block-format-4.ts'
import { drawFill, readPinField } from '../../src/crypto/pin-field.ts'
import { refused } from './refused.ts'

for (const [from, choices] of [
  [0, 16],
  [10, 6],
] as const) {
  test(`fill nibbles from ${from} are drawn without bias`, () => {
    const [rounds, draws] = [300, 10_000]
    const counts = new Map<number, number>()
    for (let round = 0; round < rounds; round += 1) {
      for (const nibble of drawFill(draws, from)) counts.set(nibble, (counts.get(nibble) ?? 0) + 1)
    }
    assert.deepEqual(
      [...counts.keys()].sort((a, b) => a - b),
      Array.from({ length: choices }, (_, at) => from + at),
    )
    // Six standard deviations: an honest draw fails once in half a billion runs. One more byte than it
    // should be, or four, is more than ten.
    const expected = (rounds * draws) / choices
    for (const [nibble, count] of counts) {
      assert.ok(Math.abs(count - expected) < 6 * Math.sqrt(expected), `${nibble}: ${count}`)
    }
  })
}

test('a fill of another length, or with one nibble that its format does not have, is refused', () => {
  const fill = (length: number) => Buffer.alloc(length, 10)
  for (const length of [0, 9, 11]) {
    refused('pin_block_refused', () => encodePinBlockFormat1('1234', fill(length)))
    refused('pin_block_refused', () => pinFieldFormat3('1234', fill(length)))
  }
  for (const at of [0, 5, 9]) {
    const wrong = fill(10)
    wrong[at] = 9
    refused('pin_block_refused', () => pinFieldFormat3('1234', wrong))
    assert.equal(encodePinBlockFormat1('1234', wrong).length, 8)
  }
})

test('a PIN field has sixteen nibbles, however right the first ones are', () => {
  const field = Buffer.from('041234ffffffffff', 'hex')
  const isFill = (nibble: number) => nibble === 15
  assert.equal(readPinField(0, field, isFill), '1234')
  for (const other of [field.subarray(0, 7), Buffer.concat([field, Buffer.of(0xff)])]) {
    refused('pin_block_refused', () => readPinField(0, other, isFill))
  }
})

test('a PIN field of format 4 has sixteen bytes, however right the first eight are', () => {
  const field = Buffer.from('441234aaaaaaaaaa0123456789abcdef', 'hex')
  assert.equal(decodePinFieldFormat4(field), '1234')
  for (const other of [8, 15]) {
    refused('pin_block_refused', () => decodePinFieldFormat4(field.subarray(0, other)))
  }
  refused('pin_block_refused', () => decodePinFieldFormat4(Buffer.concat([field, field])))
})

test('a PAN field of format 4 is made of 1 to 19 digits', () => {
  for (const pan of ['', '12345678901234567890', '4000x']) {
    refused('pin_block_refused', () => panFieldFormat4(pan))
  }
  assert.equal(panFieldFormat4('1').toString('hex'), '00000000000010000000000000000000')
})
