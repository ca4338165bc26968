import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { findCountryCode, isCountryCode } from '../../src/domain/countries.ts'
import {
  embossName,
  freeTextFault,
  nameFault,
  nameOnCardFault,
  textFault,
} from '../../src/domain/free-text.ts'

test('text may be in any script, with emoji', () => {
  for (const text of ['', 'Zoë moved to 12 Rue de l’Été 🎉', 'شارع الملك', '東京都']) {
    assert.equal(textFault(text), null)
    assert.equal(freeTextFault(text), null)
  }
})

test('text holds nothing that does not show, nor half a character', () => {
  const code = String.fromCodePoint
  const hidden = [0, 9, 10, 0x1f, 0x7f, 0x80, 0x9f, 0x2028, 0x2029, 0x202e, 0x2066, 0xfffe].map(
    (point) => `a${code(point)}b`,
  )
  for (const text of [...hidden, 'a\uD800b', '\uDC00']) {
    for (const fault of [textFault, freeTextFault, nameFault]) {
      assert.equal(typeof fault(text), 'string', JSON.stringify(text))
    }
  }
})

test('free text and names hold no card number; a line of an address may hold digits', () => {
  assert.match(freeTextFault('replaced 4242-4242-4242-4242') ?? '', /card number/)
  assert.match(nameFault('Ana 4242424242424242') ?? '', /card number/)
  assert.equal(textFault('4242424242424242'), null)
})

test('people with names of any script and form can be cardholders', () => {
  const names = [
    'Ana',
    'Jean-Luc',
    "O'Neill",
    'D’Arc',
    'María José',
    'St. John',
    'Smith, Jr.',
    'John 3rd',
    'Nguyễn'.normalize('NFD'),
    '王小明',
    'マリア・テレサ',
    'Владимир',
    'महात्मा',
    'می‌نا',
    'Gal·la',
    'Mrs.',
    'ג׳ורג׳',
    'צה״ל',
    'བསྟན་འཛིན་རྒྱ་མཚོ',
    'Պետրոս Ա՟',
    'Տ՚Արք',
    'ወልደ፡ሥላሴ',
    'डॉ॰ राम',
    'ﾏﾘｱ･ﾃﾚｻ',
  ]
  for (const name of names) assert.equal(nameFault(name), null, name)
})

test('emoji, symbols, and names without a letter are no names', () => {
  for (const name of ['Ana 🎉', '1️⃣ Ana', '🇩🇪', 'A<b>', 'a@b', 'x;y', '', ' ', '123', '--', '=A1']) {
    assert.equal(typeof nameFault(name), 'string', name)
  }
})

test('who is refused is told what would be right', () => {
  const told = {
    'a\uD800b': 'must not contain an unpaired surrogate',
    'a\tb': 'must not contain control characters',
  }
  for (const [text, detail] of Object.entries(told)) {
    assert.equal(textFault(text), detail)
    assert.equal(freeTextFault(text), detail)
    assert.equal(nameFault(text), detail)
  }
  const characters = "must consist of letters, digits, spaces and . , ' - / & ( )"
  assert.equal(nameFault('A<b>'), characters)
  assert.equal(nameFault('12.'), 'must contain a letter')
})

test('first and last name stand on the card in capitals', () => {
  assert.equal(embossName('Ana', 'Lim'), 'ANA LIM')
  assert.equal(embossName('  Mary  Jane ', "O'Neill-Smith"), "MARY JANE O'NEILL-SMITH")
})

test('accents are removed, and letters that have no accent are written out', () => {
  const names = {
    Søren: 'SOREN',
    Strauß: 'STRAUSS',
    Ægir: 'AEGIR',
    Łukasz: 'LUKASZ',
    Đorđe: 'DORDE',
    Þórður: 'THORDUR',
    Œuvré: 'OEUVRE',
    Işıl: 'ISIL',
    İpek: 'IPEK',
    Ħal: 'HAL',
    Nguyễn: 'NGUYEN',
    Zoë: 'ZOE',
    'D’Arc': "D'ARC",
    'Anne–Marie': 'ANNE-MARIE',
    ＡＮＡ: 'ANA',
    Aŉa: "A'NA",
  }
  for (const [name, capitals] of Object.entries(names)) {
    assert.equal(embossName(name, 'X'), `${capitals} X`)
    assert.equal(embossName(name.normalize('NFD'), 'X'), `${capitals} X`)
  }
})

test('over 26 characters the first name becomes its initial, then the last name is cut', () => {
  assert.equal(embossName('Bartholomew', 'Featherstone-H'), 'BARTHOLOMEW FEATHERSTONE-H')
  assert.equal(embossName('Bartholomew', 'Featherstone-Ha'), 'B FEATHERSTONE-HA')
  assert.equal(embossName('Bo', 'A'.repeat(30)), `B ${'A'.repeat(24)}`)
  assert.equal(embossName('Bo', `${'A'.repeat(23)} Bcdefg`), `B ${'A'.repeat(23)}`)
})

test('what cannot be written in Latin letters is left out; nothing left is no name', () => {
  assert.equal(embossName('Ана', 'Lim'), 'LIM')
  assert.equal(embossName('Ana', '林'), 'ANA')
  assert.equal(embossName('Ана', '林'), null)
  assert.equal(embossName('-', "'"), null)
  assert.equal(embossName('A'.repeat(30), '林'), 'A'.repeat(26))
})

test('whatever the names, a name on a card keeps the rule that clients must keep', () => {
  const name = fc.string({ unit: 'grapheme', maxLength: 30 })
  const latin = fc.string({ unit: fc.constantFrom(..."aßÆŉé -'.ł"), maxLength: 30 })
  fc.assert(
    fc.property(fc.oneof(name, latin), fc.oneof(name, latin), (first, last) => {
      const onCard = embossName(first, last)
      if (onCard !== null) assert.equal(nameOnCardFault(onCard), null)
    }),
  )
})

test('a name that a client wants is taken as it is or refused, never repaired', () => {
  for (const text of ['ANA LIM', "O'NEILL & SONS / 2", 'A'.repeat(26)]) {
    assert.equal(nameOnCardFault(text), null)
  }
  for (const text of ['', 'Ana', 'ANÁ', 'A'.repeat(27), 'ANA\n', ' ', '-', 'A_B']) {
    assert.equal(typeof nameOnCardFault(text), 'string', text)
  }
  assert.match(nameOnCardFault('4242 4242 4242 4242') ?? '', /card number/)
})

// Letters of their own that no accent makes; what people of these languages write where they
// cannot.
const written = {
  ẞ: 'SS',
  Ø: 'O',
  Æ: 'AE',
  Œ: 'OE',
  Ł: 'L',
  Đ: 'D',
  Ð: 'D',
  Þ: 'TH',
  Ħ: 'H',
  Ŋ: 'N',
  Ŧ: 'T',
  Ə: 'E',
  ĸ: 'Q',
  Ɓ: 'B',
  Ɖ: 'D',
  Ɗ: 'D',
  Ɛ: 'E',
  Ɣ: 'G',
  Ɨ: 'I',
  Ƙ: 'K',
  Ɔ: 'O',
  Ʉ: 'U',
  Ƴ: 'Y',
  ʼ: "'",
}

test('each letter that no accent makes has its spelling, large and small', () => {
  for (const [letter, spelling] of Object.entries(written)) {
    for (const each of [letter, letter.toLowerCase()]) {
      assert.equal(embossName(`A${each}B`, 'X'), `A${spelling}B X`, letter)
    }
  }
})

test('a space or dash of any script is a space or a dash, and a name of signs has no initial', () => {
  assert.equal(embossName('Ana\u3000Mar\u00a0Luz', 'Li\u2028m'), 'ANA MAR LUZ LI M')
  assert.equal(embossName('Ana‒Mar', 'X'), 'ANA-MAR X')
  assert.equal(embossName("-'-", 'A'.repeat(30)), 'A'.repeat(26))
})

test('who wants a name that cannot stand on a card is told what can', () => {
  const characters = "must have 1 to 26 characters out of A-Z, 0-9, space and . ' - / &"
  assert.equal(nameOnCardFault('Ana'), characters)
  assert.equal(nameOnCardFault('- /'), 'must contain a letter or a digit')
})

test('a country is its alpha-3 code in capitals', () => {
  for (const code of ['DEU', 'GBR', 'MYS', 'SSD', 'XKX']) assert.ok(isCountryCode(code), code)
  for (const text of ['', 'DE', 'deu', 'XXX', 'ZZZ', 'DEU ', 'toString']) {
    assert.ok(!isCountryCode(text), text)
  }
})

test('a country is found by its alpha-2 code, and by no other text', () => {
  const known = { DE: 'DEU', GB: 'GBR', CH: 'CHE', CD: 'COD', AX: 'ALA', XK: 'XKX', USA: 'USA' }
  for (const [code, alpha3] of Object.entries(known)) assert.equal(findCountryCode(code), alpha3)
  for (const text of ['', 'UK', 'NY', 'de', 'ZZ', '276']) assert.equal(findCountryCode(text), null)
})
