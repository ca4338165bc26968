import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { bytes, digits, pins } from '../crypto/arbitraries.ts'
import { cases } from '../support/cases.ts'
import { decipherUnder, encipherUnder } from './clear-keys.ts'
import { requirePermittedTranslation, translatePinBlock } from './pin-translation.ts'
import { ReferenceRefusal, refusesInputs } from './refusal.ts'

const bound = [0, 3, 4] as const

for (const from of [0, 1, 3, 4] as const) {
  for (const to of bound) {
    test(`a PIN is the same after translation from format ${from} to ${to}`, () => {
      return fc.assert(
        fc.asyncProperty(
          pins,
          digits(13, 19),
          bytes(16),
          bytes(16),
          async (pin, pan, fromKey, toKey) => {
            const [source, target] = [
              { format: from, pan, key: fromKey },
              { format: to, pan, key: toKey },
            ]
            const block = await encipherUnder(source, pin)
            const translated = await translatePinBlock(block, source, target)
            assert.equal(await decipherUnder(target, translated), pin)
          },
        ),
        cases(1_000),
      )
    })
  }
}

test('a block that is bound to a PAN is neither unbound nor bound to another', async () => {
  const key = Buffer.alloc(16, 1)
  for (const format of bound) {
    const source = { format, pan: '4111111111111111', key }
    const block = await encipherUnder(source, '1234')
    for (const target of bound) {
      const other = { format: target, pan: '4012888888881881', key }
      await assert.rejects(translatePinBlock(block, source, other), ReferenceRefusal)
    }
    const unbound = { ...source, format: 1 as const }
    await assert.rejects(translatePinBlock(block, source, unbound), ReferenceRefusal)
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
    refusesInputs(() => requirePermittedTranslation({ fromFormat, toFormat }))
  }
})

test('a block that does not decode is refused like a translation that is not permitted', async () => {
  const context = { format: 0, pan: '4111111111111111', key: Buffer.alloc(16, 1) } as const
  await assert.rejects(translatePinBlock(Buffer.alloc(8), context, context), ReferenceRefusal)
})

test('a block that is bound to no PAN may be bound to one', () => {
  for (const toFormat of [0, 1, 3, 4]) {
    const translation = { fromFormat: 1, toFormat, toPan: '4111111111111111' }
    assert.equal(requirePermittedTranslation(translation), '')
  }
})
