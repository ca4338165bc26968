import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { makeExpiry, toExpiry } from '../../src/domain/calendar.ts'
import { Cvv2 } from '../../src/domain/cvv2.ts'
import { maskPan, Pan } from '../../src/domain/pan.ts'
import {
  Pin,
  parsePin,
  type WeakPinContext,
  weakPinReason,
  weakPinRule,
  weakPinRules,
} from '../../src/domain/pin.ts'
import { Secret } from '../../src/domain/secret.ts'
import vectorFile from '../vectors/weak-pin.json' with { type: 'json' }

test('a PIN prints as four stars, whatever its length, so that even the length stays hidden', () => {
  for (const pin of [new Pin('4821'), new Pin('482193750617')]) {
    assert.equal(`${pin}`, '****')
    assert.equal(JSON.stringify({ pin }), '{"pin":"****"}')
    assert.equal(inspect({ deep: [pin] }), '{ deep: [ **** ] }')
    assert.doesNotMatch(inspect({ deep: { pin } }, { showHidden: true }), /4821/)
    assert.deepEqual(Object.keys(pin), [])
  }
})

test('a PIN has 4 to 12 ASCII digits', () => {
  for (const text of ['0000', '48210', '482193750617']) {
    assert.equal(parsePin(text)?.reveal(), text)
    assert.equal(parsePin(text)?.length, text.length)
  }
})

test('what is not a PIN becomes none, and the refusal does not repeat it', () => {
  for (const text of ['', '482', '4821937506170', '48 21', '482a', '٤٨٢١', '4821\n']) {
    assert.equal(parsePin(text), null)
    assert.throws(() => new Pin(text), { message: 'not a PIN' })
  }
})

interface VectorInputs {
  readonly pin?: string
  readonly pan?: string
  readonly birthDate?: string
  readonly expiry?: string
}

const mask = (pan: string): string => `${pan.slice(0, 6)}******${pan.slice(-4)}`

const contextOf = ({ pan, birthDate, expiry }: VectorInputs): WeakPinContext => ({
  dateOfBirth: birthDate,
  maskedPan: pan && mask(pan),
  expiry: expiry
    ? makeExpiry(2000 + Number(expiry.slice(0, 2)), Number(expiry.slice(2)))
    : undefined,
})

const ruleName = (digits: string, context: WeakPinContext = {}): string | undefined =>
  weakPinRule(new Pin(digits), context)?.name

for (const { id, name, inputs, expected } of vectorFile.vectors) {
  if (!('pin' in inputs)) continue
  test(`${id}: ${name}`, () => {
    assert.equal(ruleName(inputs.pin ?? '', contextOf(inputs)), expected.reason)
  })
}

const context: WeakPinContext = {
  dateOfBirth: '1988-05-17',
  expiry: toExpiry('2030-11-30'),
  maskedPan: new Pan('4111111111111111').masked,
}

test('the reason is a sentence, and none for a good PIN', () => {
  assert.equal(weakPinReason(new Pin('2345'), context), 'An ascending series.')
  assert.equal(weakPinReason(new Pin('8068'), context), null)
})

test('a series that passes 9 or 0 is a series', () => {
  assert.equal(ruleName('7890'), 'ascending series')
  assert.equal(ruleName('123456789012'), 'ascending series')
  assert.equal(ruleName('1098'), 'descending series')
})

test('groups that repeat are found at every length, and when the last is cut short', () => {
  assert.equal(ruleName('73737'), 'repeated pair')
  assert.equal(ruleName('7317317'), 'repeated triple')
  assert.equal(ruleName('73917391'), 'repeated group')
  assert.equal(ruleName('739172739172'), 'repeated group')
})

test('every form of the date of birth and of the expiry is found', () => {
  const forms = { '1705': 'DDMM', '0517': 'MMDD', '0588': 'MMYY' }
  for (const [pin, form] of Object.entries(forms)) {
    assert.equal(ruleName(pin, context), `${form} of birth`)
    assert.equal(ruleName(pin), undefined)
  }
  assert.equal(ruleName('1988', context), 'year of birth')
  assert.equal(ruleName('1130', context), 'expiry')
  assert.equal(ruleName('3011', context), 'expiry')
  assert.equal(ruleName('3011'), undefined)
})

test('in a longer PIN a pattern counts if it leaves at most two digits to guess', () => {
  assert.equal(ruleName('170588', context), 'DDMM of birth')
  assert.equal(ruleName('917053', context), 'DDMM of birth')
  assert.equal(ruleName('9170536', context), undefined)
  assert.equal(ruleName('17051988', context), 'date of birth')
  assert.equal(ruleName('1705198864', context), 'date of birth')
  assert.equal(ruleName('17051988642', context), undefined)
})

test('four shown digits in a row are weak wherever they stand, over the hidden gap they are not', () => {
  const shown = { maskedPan: '528374******9162' }
  for (const pin of ['5283', '2837', '8374', '9162']) {
    assert.equal(ruleName(pin, shown), '4 consecutive shown PAN digits')
  }
  for (const pin of ['7491', '3749', '4916']) assert.equal(ruleName(pin, shown), undefined)
})

test('the digits that a mask hides weaken no PIN', () => {
  const maskedPan = maskPan('5283748068359162')
  for (const pin of ['7480', '4806', '8068', '0683', '6835', '8359', '3591', '5916']) {
    assert.equal(ruleName(pin, { maskedPan }), undefined)
  }
})

test('years of two centuries are weak, other centuries are not', () => {
  assert.equal(ruleName('1900'), 'year 19xx')
  assert.equal(ruleName('2099'), 'year 20xx')
  assert.equal(ruleName('1899'), undefined)
  assert.equal(ruleName('2100'), undefined)
})

test('less than a tenth of all PINs is weak, so that cardholders find one', () => {
  const all = Array.from({ length: 10_000 }, (_, number) => String(number).padStart(4, '0'))
  const weak = all.filter((digits) => weakPinReason(new Pin(digits), context))
  assert.ok(weak.length > 300 && weak.length < 1_000, `${weak.length}`)
})

// The twenty most chosen of 3.4 million leaked four-digit PINs (DataGenetics, "PIN analysis",
// 2012), and those further down that the rules would not find: a column of the keypad, a word, odd
// and even digits.
const mostChosen =
  '1234 1111 0000 1212 7777 1004 2000 4444 2222 6969 9999 3333 5555 6666 1122 1313 8888 4321 2001 1010'
const alsoChosen = '0007 0852 1357 2468 2580 5683'

test('none of the PINs that most people choose can be set, whatever is known of the holder', () => {
  const strong = `${mostChosen} ${alsoChosen}`.split(' ').filter((pin) => !ruleName(pin))
  assert.deepEqual(strong, [])
})

test('rules have names of their own, and no detail holds a digit of a PIN', () => {
  assert.equal(new Set(weakPinRules.map(({ name }) => name)).size, weakPinRules.length)
  for (const { detail } of weakPinRules) assert.match(detail, /^[A-Z][a-z ]+\.$|PIN/)
})

test('years in a row are weak, and digits around a year or a column of keys make a PIN of it', () => {
  assert.equal(ruleName('19672013'), undefined)
  assert.equal(ruleName('19671984'), 'year 19xx')
  assert.equal(ruleName('20112034'), 'year 20xx')
  for (const pin of ['71967', '19670', '52034', '20340', '725803', '25806', '72580', '90852']) {
    assert.equal(ruleName(pin), undefined, pin)
  }
})

test('the date of birth is found with its year in two digits or four, in each order', () => {
  for (const pin of ['170588', '051788', '880517', '17051988', '05171988', '19880517']) {
    assert.ok(ruleName(pin, context)?.endsWith('birth'), pin)
  }
  for (const pin of ['17058864', '64051788', '6880517']) {
    assert.equal(ruleName(pin, context), 'date of birth')
  }
  const born = { dateOfBirth: '1991-10-27' }
  for (const pin of ['27101991', '10271991', '19911027', '271091', '102791', '911027']) {
    assert.ok(ruleName(pin, born)?.endsWith('birth'), pin)
    assert.equal(ruleName(pin), undefined, pin)
  }
})

test('a series of doubled digits is weak; one whose digits come unevenly often is not', () => {
  assert.equal(ruleName('112233'), 'doubled series')
  assert.equal(ruleName('332211'), 'doubled series')
  assert.equal(ruleName('111222'), 'doubled series')
  for (const pin of ['11222', '112224', '112244', '11223', '41122', '113355', '1122235']) {
    assert.equal(ruleName(pin), undefined, pin)
  }
})

test('lines of the keypad are weak one after another, not one with other digits', () => {
  assert.equal(ruleName('147369'), 'keypad pattern')
  assert.equal(ruleName('963741852'), 'keypad pattern')
  for (const pin of ['1470', '0147369', '1473690', '14736']) assert.equal(ruleName(pin), undefined)
})

test('a secret prints as its mask in a string, in JSON and in a log, and is read by its name alone', () => {
  const secrets = [
    { secret: new Secret('{"pin":"4821"}'), mask: '****', clear: '{"pin":"4821"}' },
    { secret: new Secret('4821', '[key]'), mask: '[key]', clear: '4821' },
    { secret: new Cvv2('482'), mask: '****', clear: '482' },
  ]
  for (const { clear, mask, secret } of secrets) {
    assert.equal(`${secret}`, mask)
    assert.equal(JSON.stringify({ deep: { secret } }), `{"deep":{"secret":"${mask}"}}`)
    assert.equal(inspect({ deep: [secret] }), `{ deep: [ ${mask} ] }`)
    const raw = inspect({ secret, ...secret }, { customInspect: false, showHidden: true, depth: 9 })
    assert.doesNotMatch(raw, /482/)
    assert.deepEqual(Reflect.ownKeys(secret), [])
    assert.equal(secret.reveal(), clear)
  }
})

test('a CVV2 has three or four ASCII digits, and what has not is not repeated', () => {
  for (const digits of ['000', '4821']) assert.equal(new Cvv2(digits).reveal(), digits)
  for (const other of ['', '48', '48210', '48a', ' 482', '482\n', '४८२']) {
    assert.throws(() => new Cvv2(other), new RangeError('not a CVV2'))
  }
})

test('a PIN does not compile where a CVV2 belongs, nor a text', () => {
  // @ts-expect-error A PIN is none.
  const pin: Cvv2 = new Pin('4821')
  // @ts-expect-error Nor is a secret text.
  const text: Cvv2 = new Secret('482')
  assert.ok(!(pin instanceof Cvv2) && !(text instanceof Cvv2))
})
