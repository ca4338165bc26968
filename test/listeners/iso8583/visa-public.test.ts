import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { decode, encode } from '../../../src/listeners/iso8583/codec/message.ts'
import { parseAdvice, parseRequest } from '../../../src/listeners/iso8583/network-messages.ts'
import { issueCard, otherDigits } from '../../support/network.ts'
import { openTestService, type TestService } from '../../support/service.ts'
import {
  connectSwitch,
  findProfile,
  openLink,
  purchase,
  type Switch,
} from '../../support/switch.ts'

const profile = findProfile('visa-public')
const origin = { linkName: 'a', networkId: 'n', requestId: 'r' }

let service: TestService
let wire: Switch
before(async () => {
  service = await openTestService({ env: { RATE_LIMIT: 'off' } })
  wire = await connectSwitch(await openLink(service, { profile: 'visa-public' }))
  assert.equal(await wire.signOn(), '00')
})

const ebcdic = (text: string): string =>
  Array.from(text, (character) => {
    const at = '0123456789'.indexOf(character)
    const letter = 'ABCDEFGHI'.indexOf(character)
    return (at >= 0 ? 0xf0 + at : letter >= 0 ? 0xc1 + letter : 0x40).toString(16)
  }).join('')

/** The fields of a purchase by their bytes, as public packagers of Visa's messages have them. */
const wireFields: Readonly<Record<number, string>> = {
  2: '104000001234567899',
  3: '000000',
  4: '000000001000',
  7: '1122170000',
  11: '000001',
  14: '3011',
  18: '5411',
  22: '0510',
  25: '00',
  32: '0612345600',
  37: ebcdic('000000000001'),
  41: ebcdic('ABCD0001'),
  42: ebcdic('ABCD00000000001'),
  43: ebcdic('A SHAD'.padEnd(40)),
  49: '0978',
  50: '0840',
  51: '0840',
  59: `05${ebcdic('99999')}`,
  61: `0c${'000000001000'}`,
  62: '094000000000000000E8',
  115: `03${ebcdic('AB1')}`,
  121: `06${ebcdic('400000')}`,
}

const bytesOf = (mti: string, fields: Readonly<Record<number, string>>): Buffer => {
  const numbers = Object.keys(fields).map(Number)
  const bitmap = Buffer.alloc(numbers.some((number) => number > 64) ? 16 : 8)
  if (bitmap.length === 16) bitmap[0] = 0x80
  for (const number of numbers) {
    const at = (number - 1) >> 3
    bitmap[at] = (bitmap[at] ?? 0) | (0x80 >> ((number - 1) & 7))
  }
  const values = numbers.map((number) => fields[number]).join('')
  return Buffer.from(mti + bitmap.toString('hex') + values, 'hex')
}

test('a purchase as public packagers of Visa’s messages write it is read and understood', () => {
  const fields = { ...wireFields, 32: '06123456' }
  const bytes = bytesOf('0100', fields)
  const message = decode(profile.layout, bytes)
  assert.deepEqual(encode(profile.layout, message), bytes)
  const expected = { 22: '0510', 49: '978', 50: '840', 51: '840', 59: '99999', 121: '400000' }
  for (const [field, value] of Object.entries(expected)) {
    assert.equal(message.fields[field], value, field)
  }
  assert.equal(message.fields['61'], '000000001000')
  const question = parseRequest(profile, origin, message)
  assert.equal(question?.pan?.reveal(), '4000001234567899')
  assert.equal(question?.entryMode, 'chip')
  assert.equal(parseAdvice(profile, origin, message)?.currency, '978')
  // A length of digits that its bytes do not have is no message.
  assert.throws(() => decode(profile.layout, bytesOf('0100', wireFields)))
})

for (const [code, mode] of Object.entries({
  '0100': 'moto',
  '0510': 'chip',
  '0710': 'contactless',
  '0712': 'contactless',
  1000: 'ecommerce',
  9010: 'magstripe',
  9020: 'magstripe',
  9100: 'contactless',
  9510: 'chip',
})) {
  test(`entry mode ${code} of Visa is ${mode}`, () => {
    const bytes = bytesOf('0100', { ...wireFields, 22: code, 32: '06123456' })
    const question = parseRequest(profile, origin, decode(profile.layout, bytes))
    assert.equal(question?.entryMode, mode)
  })
}

test('chip data behind Visa’s own header, and private bytes, are read', () => {
  const fields = { ...wireFields, 32: '06123456', 48: '03F1F2F3', 55: '0801000582025C00FF' }
  const message = decode(profile.layout, bytesOf('0100', fields))
  assert.equal(message.fields['55'], '01000582025C00FF')
  assert.equal(message.fields['48'], 'F1F2F3')
})

test('Visa-like purchases with a chip, a swipe and a CVV2 are answered on a link', async () => {
  const card = await issueCard(service)
  const { 52: _, 53: __, ...withoutPin } = purchase(service, card)
  const { fields } = await wire.ask('0100', { ...withoutPin, 22: '0510' })
  assert.deepEqual([fields['39'], fields['22'], fields['49']], ['00', '0510', '978'])
  assert.equal((await wire.ask('0100', { ...withoutPin, 22: '9020' })).fields['39'], '00')
  for (const [cvv2, code, shown] of [
    [otherDigits(card.cvv2), 'N7', 'N'],
    [card.cvv2, '00', 'M'],
  ] as const) {
    const digits = Array.from(` ${cvv2}`, (each) => (each === ' ' ? '40' : `F${each}`)).join('')
    const keyed = { ...withoutPin, 22: '0100', 126: `0040000000000000F1F0${digits}` }
    const answer = await wire.ask('0100', { ...keyed, 37: `00000000000${shown === 'N' ? 1 : 2}` })
    assert.deepEqual([answer.fields['39'], answer.fields['44']?.at(10)], [code, shown])
  }
})
