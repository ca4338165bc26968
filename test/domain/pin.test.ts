import assert from 'node:assert/strict'
import test from 'node:test'
import { inspect } from 'node:util'
import { Pin, parsePin } from '../../src/domain/pin.ts'

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
