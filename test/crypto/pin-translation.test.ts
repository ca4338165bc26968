import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decipherPinBlock, encipherPinBlock } from '../../src/crypto/pin-block.ts'
import { requirePermittedTranslation, translatePinBlock } from '../../src/crypto/pin-translation.ts'
import { cases } from '../support/cases.ts'
import { bytes, digits, pins, refused } from './arbitraries.ts'

const bound = [0, 3, 4] as const

for (const from of [0, 1, 3, 4] as const) {
  for (const to of bound) {
    test(`a PIN is the same after translation from format ${from} to ${to}`, () => {
      fc.assert(
        fc.property(pins, digits(13, 19), bytes(16), bytes(16), (pin, pan, fromKey, toKey) => {
          const [source, target] = [
            { format: from, pan, key: fromKey },
            { format: to, pan, key: toKey },
          ]
          const translated = translatePinBlock(encipherPinBlock(pin, source), source, target)
          assert.equal(decipherPinBlock(translated, target), pin)
        }),
        cases(1_000),
      )
    })
  }
}

test('a block that is bound to a PAN is neither unbound nor bound to another', () => {
  const key = Buffer.alloc(16, 1)
  for (const format of bound) {
    const source = { format, pan: '4111111111111111', key }
    const block = encipherPinBlock('1234', source)
    for (const target of bound) {
      const other = { format: target, pan: '4012888888881881', key }
      refused('pin_translation_refused', () => translatePinBlock(block, source, other))
    }
    const unbound = { ...source, format: 1 as const }
    refused('pin_translation_refused', () => translatePinBlock(block, source, unbound))
  }
})

test('no format that is not named may be translated', () => {
  for (const [fromFormat, toFormat] of [
    [2, 0],
    [0, 2],
    [5, 0],
    [Number.NaN, 0],
    [0, -1],
  ] as const) {
    refused('pin_translation_refused', () => requirePermittedTranslation({ fromFormat, toFormat }))
  }
})

test('a block that does not decode is refused like a translation that is not permitted', () => {
  const context = { format: 0, pan: '4111111111111111', key: Buffer.alloc(16, 1) } as const
  refused('pin_translation_refused', () => translatePinBlock(Buffer.alloc(8), context, context))
})
