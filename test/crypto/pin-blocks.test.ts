import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  decipherPinBlock,
  encipherPinBlock,
  type PinBlockContext,
  type PinBlockFormat,
} from '../../src/crypto/pin-block.ts'
import {
  decodePinBlockFormat2,
  encodePinBlockFormat2,
} from '../../src/crypto/pin-block-format-2.ts'
import { bytes, cases, digits, fewerCases, pins } from './arbitraries.ts'
import { refused } from './refused.ts'

const tdesKeys = bytes(8, 16, 24)
const aesKeys = bytes(16, 24, 32)
const lengths = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, at) => from + at)

function contexts(format: PinBlockFormat): fc.Arbitrary<PinBlockContext> {
  return fc.record({
    format: fc.constant(format),
    pan: digits(format === 4 ? 12 : 13, 19),
    key: format === 4 ? aesKeys : tdesKeys,
  })
}

for (const format of [0, 1, 3, 4] as const) {
  test(`a PIN comes back out of a format ${format} block, whatever PIN, PAN and key`, () => {
    const roundTrip = (pin: string, context: PinBlockContext) =>
      assert.equal(decipherPinBlock(encipherPinBlock(pin, context), context), pin)
    fc.assert(fc.property(pins, contexts(format), roundTrip), cases)
  })

  test(`every PIN length comes back out of format ${format} with every PAN length`, () => {
    const key = Buffer.alloc(16, 0x5b)
    for (const pinLength of lengths(4, 12)) {
      for (const panLength of lengths(format === 4 ? 12 : 13, 19)) {
        const pin = '907182736450'.slice(0, pinLength)
        const context = { format, pan: '4000001234567899017'.slice(0, panLength), key }
        assert.equal(decipherPinBlock(encipherPinBlock(pin, context), context), pin)
      }
    }
  })

  test(`format ${format} refuses PINs of 3 and 13 digits, letters, other digits and line ends`, () => {
    const context = { format, pan: '4000001234567899', key: Buffer.alloc(16, 1) }
    for (const pin of ['', '123', '1234567890123', '12a4', '١٢٣٤', '1234\n', ' 1234', '12.4']) {
      refused('pin_block_refused', () => encipherPinBlock(pin, context))
    }
  })

  test(`format ${format} refuses random bytes or returns 4 to 12 digits, and never breaks`, () => {
    const blocks = bytes(format === 4 ? 16 : 8)
    const decode = (block: Uint8Array, context: PinBlockContext) => {
      try {
        assert.match(decipherPinBlock(block, context), /^[0-9]{4,12}$/)
      } catch (error) {
        refused('pin_block_refused', () => {
          throw error
        })
      }
    }
    fc.assert(fc.property(blocks, contexts(format), decode), fewerCases)
  })

  test(`format ${format} refuses blocks and keys of other lengths`, () => {
    const context = { format, pan: '4000001234567899', key: Buffer.alloc(16, 1) }
    for (const length of [0, 7, 9, 15, 17, 24, 32]) {
      refused('pin_block_refused', () => decipherPinBlock(Buffer.alloc(length), context))
    }
    for (const length of [0, 7, 15, 17, 31, 33]) {
      const other = { ...context, key: Buffer.alloc(length) }
      refused('pin_block_refused', () => encipherPinBlock('1234', other))
      refused('pin_block_refused', () => decipherPinBlock(Buffer.alloc(16), other))
    }
  })
}

for (const format of [0, 3] as const) {
  test(`format ${format} refuses a PAN of 12 digits, whose check digit leaves only eleven`, () => {
    const context = { format, pan: '400000123456', key: Buffer.alloc(16, 1) }
    refused('pin_block_refused', () => encipherPinBlock('1234', context))
  })
}

test('a PIN of any length comes back out of a format 2 block', () => {
  const roundTrip = (pin: string) =>
    assert.equal(decodePinBlockFormat2(encodePinBlockFormat2(pin)), pin)
  fc.assert(fc.property(pins, roundTrip), cases)
})

test('a format 4 block opens neither under another key nor for another PAN', () => {
  const fours = contexts(4)
  const differs = (pin: string, made: PinBlockContext, other: PinBlockContext) => {
    const block = encipherPinBlock(pin, made)
    refused('pin_block_refused', () => decipherPinBlock(block, { ...made, pan: other.pan }))
    refused('pin_block_refused', () => decipherPinBlock(block, { ...made, key: other.key }))
  }
  const hasOther = fc
    .tuple(pins, fours, fours)
    .filter(([, made, other]) => made.pan !== other.pan && !Buffer.from(made.key).equals(other.key))
  // One in some ten million wrong openings reads as a PIN by chance: a fixed seed meets none.
  const run = { ...fewerCases, seed: 9564 }
  fc.assert(
    fc.property(hasOther, ([pin, made, other]) => differs(pin, made, other)),
    run,
  )
})

test('the same PIN never makes the same block twice in formats 3 and 4', () => {
  for (const format of [3, 4] as const) {
    const context = { format, pan: '4000001234567899', key: Buffer.alloc(16, 1) }
    const blocks = Array.from({ length: 100 }, () => encipherPinBlock('1234', context))
    assert.equal(new Set(blocks.map(String)).size, 100)
  }
})
