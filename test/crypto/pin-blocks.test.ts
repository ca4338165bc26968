import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decipherPinBlock, encipherPinBlock } from '../../src/crypto/pin-block.ts'
import { encodePinBlockFormat1 } from '../../src/crypto/pin-block-format-1.ts'
import { pinFieldFormat3 } from '../../src/crypto/pin-block-format-3.ts'
import { decodePinFieldFormat4, panFieldFormat4 } from '../../src/crypto/pin-block-format-4.ts'
import { drawFill, readPinField } from '../../src/crypto/pin-field.ts'
import { clearBlockKey } from '../reference/keys.ts'
import {
  decipherUnder,
  encipherUnder,
  makePinBlock,
  type PinBlockContext,
  readPinBlock,
} from '../reference/pin-blocks.ts'
import { bytes, digits, fewerCases, pins, refused, refusedLater } from './arbitraries.ts'

const tdesKeys = bytes(8, 16, 24)
const aesKeys = bytes(16, 24, 32)
const lengths = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, at) => from + at)

function contexts(format: PinBlockContext['format']): fc.Arbitrary<PinBlockContext> {
  return fc.record({
    format: fc.constant(format),
    pan: digits(format === 4 ? 12 : 13, 19),
    key: format === 4 ? aesKeys : tdesKeys,
  })
}

for (const format of [0, 1, 3, 4] as const) {
  test(`a PIN comes back out of a format ${format} block, whatever PIN, PAN and key`, () => {
    const roundTrip = async (pin: string, context: PinBlockContext) => {
      const block = await encipherUnder(context, pin)
      assert.equal(await decipherUnder(context, block), pin)
      assert.equal(readPinBlock(block, context), pin, 'other code reads it')
      assert.equal(await decipherUnder(context, makePinBlock(pin, context)), pin)
    }
    return fc.assert(fc.asyncProperty(pins, contexts(format), roundTrip), fewerCases)
  })

  test(`every PIN length comes back out of format ${format} with every PAN length`, async () => {
    const key = Buffer.alloc(16, 0x5b)
    for (const pinLength of lengths(4, 12)) {
      for (const panLength of lengths(format === 4 ? 12 : 13, 19)) {
        const pin = '907182736450'.slice(0, pinLength)
        const context = { format, pan: '4000001234567899017'.slice(0, panLength), key }
        assert.equal(await decipherUnder(context, await encipherUnder(context, pin)), pin)
      }
    }
  })

  const context = { format, pan: '4000001234567899', key: Buffer.alloc(16, 1) }

  test(`format ${format} refuses PINs of 3 and 13 digits, letters, other digits and line ends`, async () => {
    for (const pin of ['', '123', '1234567890123', '12a4', '١٢٣٤', '1234\n', ' 1234', '12.4']) {
      await refusedLater('pin_block_refused', () => encipherUnder(context, pin))
    }
  })

  test(`format ${format} refuses random bytes or returns 4 to 12 digits, and never breaks`, () => {
    const blocks = bytes(format === 4 ? 16 : 8)
    const decode = async (block: Uint8Array, under: PinBlockContext) => {
      try {
        assert.match(await decipherUnder(under, block), /^[0-9]{4,12}$/)
      } catch (error) {
        await refusedLater('pin_block_refused', () => Promise.reject(error))
      }
    }
    return fc.assert(fc.asyncProperty(blocks, contexts(format), decode), fewerCases)
  })

  test(`format ${format} refuses blocks of other lengths, and keys of another cipher`, async () => {
    for (const length of [0, 7, 8, 9, 15, 16, 17, 24, 32]) {
      if (length === (format === 4 ? 16 : 8)) continue
      await refusedLater('pin_block_refused', () => decipherUnder(context, Buffer.alloc(length)))
    }
    const other = clearBlockKey(format === 4 ? 'TDES' : 'AES', context.key)
    const named = `ISO_FORMAT_${format}` as const
    const block = await encipherUnder(context, '1234')
    await refusedLater('pin_block_refused', () =>
      decipherPinBlock(named, other, block, context.pan),
    )
    await assert.rejects(encipherPinBlock(named, other, '1234', context), RangeError)
  })

  test(`what is wrong with a key is not the fault of a format ${format} block`, async () => {
    for (const length of [0, 7, 15, 17, 31, 33]) {
      const under = { ...context, key: Buffer.alloc(length) }
      const code = format === 4 ? 'aes_refused' : 'tdes_refused'
      await refusedLater(code, () => encipherUnder(under, '1234'))
      const block = Buffer.alloc(format === 4 ? 16 : 8)
      await refusedLater(code, () => decipherUnder(under, block))
    }
  })
}

for (const format of [0, 3] as const) {
  test(`format ${format} refuses a PAN of 12 digits, whose check digit leaves only eleven`, async () => {
    const context = { format, pan: '400000123456', key: Buffer.alloc(16, 1) }
    await refusedLater('pin_block_refused', () => encipherUnder(context, '1234'))
  })
}

test('a format 4 block opens neither under another key nor for another PAN', () => {
  const fours = contexts(4)
  const differs = async (pin: string, made: PinBlockContext, other: PinBlockContext) => {
    const block = await encipherUnder(made, pin)
    for (const wrong of [{ pan: other.pan }, { key: other.key }]) {
      await refusedLater('pin_block_refused', () => decipherUnder({ ...made, ...wrong }, block))
    }
  }
  const hasOther = fc
    .tuple(pins, fours, fours)
    .filter(([, made, other]) => made.pan !== other.pan && !Buffer.from(made.key).equals(other.key))
  // One in some ten million wrong openings reads as a PIN by chance: a fixed seed meets none.
  const run = { ...fewerCases, seed: 9564 }
  return fc.assert(
    fc.asyncProperty(hasOther, ([pin, made, other]) => differs(pin, made, other)),
    run,
  )
})

test('the same PIN never makes the same block twice in formats 3 and 4', async () => {
  for (const format of [3, 4] as const) {
    const context = { format, pan: '4000001234567899', key: Buffer.alloc(16, 1) }
    const drawn = Array.from({ length: 100 }, () => encipherUnder(context, '1234'))
    assert.equal(new Set((await Promise.all(drawn)).map(String)).size, 100)
  }
})

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
    // Six standard deviations: an honest draw fails once in half a billion runs. One more byte than
    // it should be, or four, is more than ten.
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
