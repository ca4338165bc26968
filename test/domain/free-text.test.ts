import assert from 'node:assert/strict'
import test from 'node:test'
import { codePointLength, freeTextFault, nameFault, textFault } from '../../src/domain/free-text.ts'

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
  ]
  for (const name of names) assert.equal(nameFault(name), null, name)
})

test('emoji, symbols, and names without a letter are no names', () => {
  for (const name of ['Ana 🎉', '1️⃣ Ana', '🇩🇪', 'A<b>', 'a@b', 'x;y', '', ' ', '123', '--', '=A1']) {
    assert.equal(typeof nameFault(name), 'string', name)
  }
})

test('a character beyond 16 bits counts as one', () => {
  assert.equal(codePointLength('🎉a'), 2)
  assert.equal(codePointLength(''), 0)
})

test('who is refused is told what would be right', () => {
  const told = {
    'a\uD800b': 'must not hold an unpaired surrogate',
    'a\tb': 'must not hold control characters',
  }
  for (const [text, detail] of Object.entries(told)) {
    assert.equal(textFault(text), detail)
    assert.equal(freeTextFault(text), detail)
    assert.equal(nameFault(text), detail)
  }
  const characters = "must consist of letters, digits, spaces and . , ' - / & ( )"
  assert.equal(nameFault('A<b>'), characters)
  assert.equal(nameFault('12.'), 'must hold a letter')
})
