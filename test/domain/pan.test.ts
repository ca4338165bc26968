import assert from 'node:assert/strict'
import test from 'node:test'
import { inspect } from 'node:util'
import fc from 'fast-check'
import {
  accountLength,
  binRanges,
  buildPan,
  findBinRange,
  holdsPanPart,
  isLuhnValid,
  listSchemeRanges,
  luhnCheckDigit,
  Pan,
  parsePan,
} from '../../src/domain/pan.ts'
import vectorFile from '../vectors/luhn-pan.json' with { type: 'json' }

const digits = (minLength: number, maxLength = minLength): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength, maxLength })

for (const { id, name, op, inputs, expected } of vectorFile.vectors) {
  if (op === 'luhnValid') {
    test(`${id}: a number is Luhn-valid as published (${name})`, () => {
      assert.equal(isLuhnValid(inputs.number ?? ''), expected.valid)
    })
  }
  if (op === 'checkDigit') {
    test(`${id}: a check digit is as published (${name})`, () => {
      assert.equal(luhnCheckDigit(inputs.body ?? ''), expected.digit)
    })
  }
}

test('any one wrong digit breaks Luhn validity', () => {
  fc.assert(
    fc.property(digits(11, 18), fc.nat(18), fc.integer({ min: 1, max: 9 }), (body, at, by) => {
      const valid = body + luhnCheckDigit(body)
      const place = at % valid.length
      const wrong = String((Number(valid[place]) + by) % 10)
      assert.ok(isLuhnValid(valid))
      assert.ok(!isLuhnValid(valid.slice(0, place) + wrong + valid.slice(place + 1)))
    }),
  )
})

test('a PAN is built from any BIN of 6 or 8 digits, and has 16 digits and a right check digit', () => {
  fc.assert(
    fc.property(fc.oneof(digits(6), digits(8)), digits(9), (bin, random) => {
      const pan = buildPan(bin, random.slice(0, accountLength(bin))).reveal()
      assert.match(pan, /^[0-9]{16}$/)
      assert.ok(pan.startsWith(bin))
      assert.ok(isLuhnValid(pan))
    }),
  )
})

test('a PAN is not built from too few or too many account digits', () => {
  assert.throws(() => buildPan('400000', '12345678'), RangeError)
  assert.throws(() => buildPan('400000', '1234567890'), RangeError)
  assert.throws(() => buildPan('400000', '12345678x'), RangeError)
})

test('a PAN prints as its mask in a string, in JSON, in a log, even deep in an object', () => {
  const pan = new Pan('4242424242424242')
  const mask = '424242******4242'
  assert.equal(`${pan}`, mask)
  assert.equal(JSON.stringify({ pan }), `{"pan":"${mask}"}`)
  assert.match(inspect({ card: { pan } }, { showHidden: true }), /424242\*{6}4242/)
  assert.equal(pan.masked, mask)
  assert.equal(pan.lastFour, '4242')
  assert.deepEqual(Object.keys(pan), [])
})

test('a mask hides all but the first six and last four digits, whatever the length', () => {
  fc.assert(
    fc.property(digits(11, 18), (body) => {
      const full = body + luhnCheckDigit(body)
      const { masked } = new Pan(full)
      assert.equal(masked.length, full.length)
      assert.match(masked, /^[0-9]{6}\*+[0-9]{4}$/)
    }),
  )
})

test('what is not a PAN becomes none, and the refusal does not repeat it', () => {
  const others = [
    '',
    '4242',
    '4242424242424241',
    '4242 4242 4242 4242',
    '42424242424242424242',
    'x',
  ]
  for (const text of others) {
    assert.equal(parsePan(text), null)
    assert.throws(() => new Pan(text), { message: 'not a PAN' })
  }
  assert.equal(parsePan('4242424242424242')?.reveal(), '4242424242424242')
})

test('a PAN is built of digits alone, and of as many as it has', () => {
  const wrongCount = { name: 'RangeError', message: 'wrong number of account digits' }
  assert.equal(buildPan('400000', '123456789').reveal().length, 16)
  for (const account of ['12345678', '1234567890', '']) {
    assert.throws(() => buildPan('400000', account), wrongCount)
  }
  for (const text of ['', '4000x', 'x4000', '4000 ']) {
    assert.throws(() => luhnCheckDigit(text), { name: 'RangeError', message: 'not digits' })
  }
})

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
  assert.equal(findBinRange('4242424242424242')?.name, 'visa')
  assert.equal(findBinRange('2223003122003222')?.name, 'mastercard-2')
  assert.equal(findBinRange('378282246310005')?.name, 'amex')
  assert.equal(findBinRange('3056930009020004')?.name, 'diners')
  assert.equal(findBinRange('6011000990139424')?.name, 'discover')
  assert.equal(findBinRange('9999999999999999'), null)
  assert.equal(findBinRange('424242424242424'), null)
  // Fewer digits than a range begins with.
  assert.equal(findBinRange('2'), null)
})

test('a scheme is known in any case and with all its ranges', () => {
  assert.deepEqual(
    listSchemeRanges('Mastercard').map(({ name }) => name),
    ['mastercard', 'mastercard-2'],
  )
  assert.deepEqual(listSchemeRanges('House Card'), [])
})

test('twelve digits of a PAN are found in an id, and the zeros of a BIN are not', () => {
  const pan = '4000000012345670'
  for (const held of [pan, pan.slice(0, 12), pan.slice(4), `A${pan.slice(0, 8)}-${pan.slice(8)}`]) {
    assert.ok(holdsPanPart(pan, held), held)
  }
  for (const id of ['000000011111111', '400000001111111', '999912345670']) {
    assert.equal(holdsPanPart(pan, id), false, id)
  }
})
