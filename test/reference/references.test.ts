import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  bytes as anyBytes,
  cases,
  digits,
  fewerCases,
  pins,
  refused,
  refusedLater,
} from '../crypto/arbitraries.ts'
import { cases as casesOf } from '../support/cases.ts'
import { clearCvkPair, keyBlockVariantsOf, unwrapAesKey, wrapAesKey } from './keys.ts'
import {
  decipherUnder,
  decodePinBlockFormat2,
  encipherUnder,
  encodePinBlockFormat2,
  requirePermittedTranslation,
  translatePinBlock,
} from './pin-blocks.ts'
import { ReferenceRefusal, refusesInputs } from './refusal.ts'
import {
  decimalise,
  generateCavv,
  generateNaturalPin,
  generatePinOffset,
  pinFromOffset,
  validationDataOfPan,
} from './verification-values.ts'

const bytes = (length: number): Buffer => Buffer.alloc(length, 7)

test('a wrapped key unwraps, and with any bit changed it does not', () => {
  fc.assert(
    fc.property(anyBytes(16, 24, 32), anyBytes(16, 24, 32, 40), fc.nat(), (kek, secret, place) => {
      const wrapped = wrapAesKey(kek, secret)
      assert.deepEqual(unwrapAesKey(kek, wrapped), Buffer.from(secret))
      const at = place % wrapped.length
      wrapped[at] = (wrapped[at] ?? 0) ^ (1 << (place % 8))
      refusesInputs(() => unwrapAesKey(kek, wrapped))
    }),
    fewerCases,
  )
})

test('keys of 8 bytes and of part blocks are not wrapped', () => {
  for (const length of [0, 8, 15, 17]) {
    refusesInputs(() => wrapAesKey(bytes(32), Buffer.alloc(length)))
  }
})

test('a wrapped key has at least two semiblocks, and whole ones', () => {
  for (const length of [0, 8, 15, 17, 20]) {
    refusesInputs(() => wrapAesKey(bytes(16), bytes(length)))
    refusesInputs(() => unwrapAesKey(bytes(16), bytes(length + 8)))
  }
  for (const length of [8, 15, 33]) {
    refusesInputs(() => wrapAesKey(bytes(length), bytes(16)))
  }
  refusesInputs(() => unwrapAesKey(bytes(16), bytes(24)))
  assert.deepEqual(unwrapAesKey(bytes(16), wrapAesKey(bytes(16), bytes(16))), bytes(16))
})

test('a PIN and its offset lead to each other, for every length from 4 to 16', () => {
  const tables = digits(16, 16)
  fc.assert(
    fc.property(
      anyBytes(8, 16, 24),
      digits(16, 16),
      tables,
      digits(4, 16),
      (pvk, validationData, decimalisationTable, pin) => {
        const inputs = { validationData, decimalisationTable }
        assert.equal(pinFromOffset(pvk, inputs, generatePinOffset(pvk, inputs, pin)), pin)
      },
    ),
    fewerCases,
  )
})

test('an IBM 3624 PIN is made of whole inputs alone', () => {
  const table = '0123456789012345'
  const inputs = { validationData: '1234567890123456', decimalisationTable: table }
  const pvk = Buffer.from('0123456789abcdeffedcba9876543210', 'hex')
  const faults = [
    () => validationDataOfPan('', 'F'),
    () => validationDataOfPan('12345678901234567890', 'F'),
    () => validationDataOfPan('12a', 'F'),
    () => validationDataOfPan('123', ''),
    () => validationDataOfPan('123', 'FF'),
    () => validationDataOfPan('123', 'g'),
    () => decimalise(bytes(7), table, 4),
    () => decimalise(bytes(8), table.slice(1), 4),
    ...[0, -1, 17, 4.5, Number.NaN].map((length) => () => decimalise(bytes(8), table, length)),
    ...[0, 1, 3, 17, 5.5].map((length) => () => generateNaturalPin(pvk, inputs, length)),
    () => generateNaturalPin(pvk, { ...inputs, validationData: '123456789012345' }, 4),
    () => generateNaturalPin(pvk, { ...inputs, validationData: '123456789012345g' }, 4),
    () => generateNaturalPin(pvk.subarray(1), inputs, 4),
    ...['', '123', '123a', '12345678901234567'].flatMap((digits) => [
      () => generatePinOffset(pvk, inputs, digits),
      () => pinFromOffset(pvk, inputs, digits),
    ]),
  ]
  for (const fault of faults) refusesInputs(fault)
  assert.equal(validationDataOfPan('1234567890123456789', 'F'), '1234567890123456')
  assert.equal(validationDataOfPan('12345', 'D'), '12345DDDDDDDDDDD')
  assert.equal(decimalise(Buffer.from('0f1e2d3c4b5a6978', 'hex'), table, 16).length, 16)
  assert.equal(decimalise(Buffer.from('0f1e2d3c4b5a6978', 'hex'), table, 1), '0')
})

test('a CAVV is made of a PAN of 1 to 19 digits, zeros before a short one', async () => {
  const inputs = { trackingNumber: '1234', serviceCode: '007' }
  for (const pan of ['', '12345678901234567890', '12a4']) {
    await refusedLater('cvv_refused', () => generateCavv(bytes(16), { ...inputs, pan }))
  }
  const short = await generateCavv(bytes(16), { ...inputs, pan: '123456' })
  assert.equal(short, await generateCavv(bytes(16), { ...inputs, pan: '0000000000123456' }))
})

test('a CVK pair has 16 bytes, and a protection key of blocks of older versions 16 or 24', () => {
  for (const length of [0, 8, 15, 17, 24]) refused('cvv_refused', () => clearCvkPair(bytes(length)))
  for (const length of [0, 8, 15, 17, 32]) {
    refused('key_derivation_refused', () => keyBlockVariantsOf(bytes(length)))
  }
  for (const length of [16, 24]) assert.equal(keyBlockVariantsOf(bytes(length)).kbek.length, length)
})

test('a PIN of any length comes back out of a format 2 block, which has eight bytes', () => {
  const roundTrip = (pin: string) =>
    assert.equal(decodePinBlockFormat2(encodePinBlockFormat2(pin)), pin)
  fc.assert(fc.property(pins, roundTrip), cases)
  for (const length of [0, 7, 9]) {
    refused('pin_block_refused', () => decodePinBlockFormat2(Buffer.alloc(length, 0x24)))
  }
})

const bound = [0, 3, 4] as const

for (const from of [0, 1, 3, 4] as const) {
  for (const to of bound) {
    test(`a PIN is the same after translation from format ${from} to ${to}`, () => {
      return fc.assert(
        fc.asyncProperty(
          pins,
          digits(13, 19),
          anyBytes(16),
          anyBytes(16),
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
        casesOf(1_000),
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
