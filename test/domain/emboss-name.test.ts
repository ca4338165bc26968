import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { embossName, nameOnCardFault } from '../../src/domain/emboss-name.ts'

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
