import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import {
  buildPan,
  holdsPan,
  isLuhnValid,
  listPossiblePans,
  luhnCheckDigit,
  withoutUuids,
} from '../../src/domain/pan.ts'

const digits = (minLength: number, maxLength = minLength): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength, maxLength })

const separators = fc.string({
  unit: fc.constantFrom(...' -\u2013\u2014\u2212\u00A0\u2009\u3000\u200B\u00AD\uFF0D\t'),
  maxLength: 3,
})

test('a Luhn-valid run of 12 to 19 digits is found between other text', () => {
  fc.assert(
    fc.property(digits(11, 18), (body) => {
      assert.ok(holdsPan(`card ${body}${luhnCheckDigit(body)}, please`))
    }),
  )
})

test('spaces, dashes and invisible characters between the digits do not hide a PAN', () => {
  fc.assert(
    fc.property(
      digits(9),
      fc.array(separators, { minLength: 16, maxLength: 16 }),
      (account, between) => {
        const pan = [...buildPan('400000', account).reveal()]
        assert.ok(holdsPan(pan.map((digit, index) => digit + between[index]).join('')))
      },
    ),
  )
})

test('dots between groups of digits hide no PAN of a network', () => {
  for (const text of [
    '4111.1111.1111.1111',
    'Card 4111.1111 1111-1111, please',
    '3782.822463.10005',
    '4111·1111·1111·1111',
    '12.4111.1111.1111.1111.1230',
    '4.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1',
  ]) {
    assert(holdsPan(text), text)
  }
  for (const text of [
    '192.168.100.200',
    '1732701234.567890',
    '1.234.567.890.123',
    '4111.1111.1111.1112',
  ]) {
    assert(!holdsPan(text), text)
  }
})

test('digits glued to a PAN of a network, such as its expiry or CVV, do not hide it', () => {
  fc.assert(
    fc.property(digits(9), digits(0, 12), digits(0, 12), (account, before, after) => {
      assert.ok(holdsPan(before + buildPan('400000', account).reveal() + after))
    }),
  )
  assert.ok(holdsPan('378282246310005 1130 1234'))
})

test('a PAN next to other numbers is found', () => {
  assert.ok(holdsPan('12 4242424242424242'))
  assert.ok(holdsPan('order 7 - 4242 4242 4242 4242 - 11/30'))
  assert.ok(holdsPan('9 999999999999994 2'))
})

test('digits of other scripts and shapes do not hide a PAN', () => {
  const scripts = {
    fullwidth: 0xff10,
    arabic: 0x660,
    devanagari: 0x966,
    bold: 0x1d7ce,
    adlam: 0x1e950,
  }
  for (const [script, zero] of Object.entries(scripts)) {
    const text = [...'4242424242424242'].map((digit) => String.fromCodePoint(zero + Number(digit)))
    assert.ok(holdsPan(text.join('')), script)
  }
  assert.ok(holdsPan('4️⃣2️⃣4️⃣2️⃣4️⃣2️⃣4️⃣2️⃣4️⃣2️⃣4️⃣2️⃣4️⃣2️⃣4️⃣2️⃣'))
  assert.ok(holdsPan('④②④②④②④②④②④②④②④②'))
})

test('ordinary references and notes are left alone', () => {
  const texts = [
    '',
    'C-1',
    'PIN changed at the branch on 2026-11-20, 08:00',
    '4242424242424241',
    '4111 1111 1111 1112',
    'order 1234567890123456',
    '79927398713',
    'call +49 30 901820',
    '550e8400-e29b-41d4',
    '4242 4242 (4242) 4242',
  ]
  for (const text of texts) assert.ok(!holdsPan(text), text)
})

test('a UUID is no PAN, whatever its digits; and hides none that stands beside it', () => {
  const uuid = '87cbc1b5-527c-4f8c-b532-653032864aaf'
  assert.ok(holdsPan(uuid))
  assert.ok(!holdsPan(withoutUuids(uuid)))
  assert.ok(!holdsPan(withoutUuids(`key ${uuid.toUpperCase()}, or ${uuid}`)))
  fc.assert(fc.property(fc.uuid(), (drawn) => !holdsPan(withoutUuids(`/${drawn}/4242`))))
  const pan = '4242-4242-4242-4242'
  const hiding = [`${uuid} ${pan}`, `${pan}-${uuid}`, `${uuid}-${pan}`, `0${uuid}`]
  // Of no version, and of no variant.
  const others = ['42424242-4242-0242-8242-424242424242', '42424242-4242-4242-0242-424242424242']
  for (const text of [...hiding, ...others]) assert.ok(holdsPan(withoutUuids(text)), text)
})

test('every number of a card in an id is among those that it may hold', () => {
  fc.assert(
    fc.property(digits(9), digits(0, 20), digits(0, 20), (account, before, after) => {
      const pan = buildPan('400000', account).reveal()
      for (const separator of ['', '-', '.', '_']) {
        const id = before + pan.replace(/(....)/g, `$1${separator}`) + after
        assert.ok(listPossiblePans(id).some((each) => each.reveal() === pan))
      }
    }),
  )
  for (const id of ['', '411111111111111', '4111111111111112', '41111111a11111111']) {
    assert.deepEqual(listPossiblePans(id), [])
  }
})

test('fewer than one in six honest references of 16 digits is taken for a PAN', () => {
  const bodies = Array.from({ length: 3_000 }, (_, index) => String(index * 7919 + 10 ** 14))
  const references = bodies.map((body) => body + ((Number(luhnCheckDigit(body)) + 5) % 10))
  const refused = references.filter(holdsPan)
  assert.ok(refused.length < 500, `${refused.length}`)
})

/**
 * The processor's time of a call, in microseconds: the least of some, so that what else runs counts
 * little.
 */
function costOf(call: () => unknown): number {
  const costs = Array.from({ length: 5 }, () => {
    const before = process.cpuUsage()
    call()
    const { system, user } = process.cpuUsage(before)
    return system + user
  })
  return Math.min(...costs)
}

test('a text as long as a body is searched at the cost of a few readings, however it is made up', () => {
  // Where a text is too long, its length alone is not all that it is held against.
  const length = 60_000
  const texts = [
    ...['4', '9', '6', '5018', '4 ', '\u0664'].map((each) => each.repeat(length / each.length)),
    `4${' '.repeat(length)}4`,
    '-'.repeat(length),
  ]
  const reading = costOf(() => isLuhnValid('4'.repeat(length)))
  for (const text of texts) {
    const cost = costOf(() => holdsPan(text))
    assert.ok(cost < 60 * Math.max(reading, 1_000), `${text.slice(0, 4)}… ${cost} of ${reading} µs`)
  }
})
