import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { PinBlockFormat } from '../../../src/hsm/contract/hsm.ts'
import { type IssuedCard, issueCard, otherDigits, pinBlock } from '../../support/network.ts'
import { openTestService, type TestService } from '../../support/service.ts'
import {
  cardNotPresent,
  connectSwitch,
  nextTrace,
  openLink,
  purchase,
  type Switch,
} from '../../support/switch.ts'

let service: TestService
let wire: Switch
before(async () => {
  service = await openTestService({ env: { RATE_LIMIT: 'off' } })
  wire = await connectSwitch(await openLink(service))
  assert.equal(await wire.signOn(), '00')
})

const triesOf = async ({ publicToken }: IssuedCard, kind = 'pin'): Promise<number> =>
  (await service.call('GET', `/card-${kind}/${publicToken}/${kind}/status`)).json.remainingTries

const controls = { ISO_FORMAT_1: '2001020100000000', ISO_FORMAT_3: '2001030100000000' } as const

/** A PIN, enciphered in a block with random digits. */
const enciphered = (
  card: IssuedCard,
  pin: string,
  format: Extract<PinBlockFormat, keyof typeof controls>,
) => ({
  52: pinBlock(service, { pan: card.pan, pin }, format).data.toUpperCase(),
  53: controls[format],
})

for (const format of ['ISO_FORMAT_1', 'ISO_FORMAT_3'] as const) {
  test(`a repeat that enciphers its PIN again in ${format} has the first answer and spends no try`, async () => {
    const card = await issueCard(service)
    const numbers = { 7: '1122170000', 11: nextTrace() }
    const first = {
      ...purchase(service, card),
      ...numbers,
      ...enciphered(card, otherDigits(card.pin), format),
    }
    const again = { ...first, ...enciphered(card, otherDigits(card.pin), format) }
    assert.notEqual(again['52'], first['52'])
    const answer = await wire.ask('0200', first)
    assert.equal(answer.fields['39'], '55')
    assert.deepEqual(await wire.ask('0201', again), answer)
    assert.equal(await triesOf(card), 2)
    // Nor is a right PIN compared under the same key.
    const right = { ...first, ...enciphered(card, card.pin, format) }
    assert.deepEqual(await wire.ask('0201', right), answer)
    assert.equal(await triesOf(card), 2)
  })
}

test('a repeat at another time, with another field 60 and other chip data, has the first answer', async () => {
  const card = await issueCard(service)
  const first = {
    ...purchase(service, card),
    7: '1122170000',
    11: nextTrace(),
    12: '170000',
    13: '1122',
    60: 'TERMINAL 1',
  }
  const { fields: answered } = await wire.ask('0200', first)
  assert.equal(answered['39'], '00')
  const later = { ...first, 12: '170042', 13: '1123', 60: 'TERMINAL 2', 63: 'RETRY' }
  const { fields: again } = await wire.ask('0201', later)
  assert.deepEqual([again['39'], again['38']], ['00', answered['38']])
})

for (const [field, other] of Object.entries({
  2: '4000001234567899',
  3: '010000',
  4: '000000002000',
  14: '2901',
  18: '5999',
  22: '901',
  49: '840',
})) {
  test(`a repeat with another field ${field} is another question: 94`, async () => {
    const card = await issueCard(service)
    const first = { ...purchase(service, card), 7: '1122170000', 11: nextTrace() }
    assert.equal((await wire.ask('0200', first)).fields['39'], '00')
    const changed = { ...first, [field]: other }
    assert.equal((await wire.ask('0201', changed)).fields['39'], '94')
    assert.equal(await triesOf(card), 3)
  })
}

test('a repeat with another CVV2, or with another PIN in a block of format 0, is another question', async () => {
  const card = await issueCard(service)
  const numbers = { 7: '1122170000', 11: nextTrace(), 37: 'SAMECVV20001' }
  const wrong = cardNotPresent(service, card, otherDigits(card.cvv2), numbers)
  assert.equal((await wire.ask('0200', wrong)).fields['39'], 'N7')
  const right = cardNotPresent(service, card, card.cvv2, numbers)
  assert.equal((await wire.ask('0201', right)).fields['39'], '94')
  assert.equal(await triesOf(card, 'cvv'), 2)
  const same = { 7: '1122170000', 11: nextTrace(), 37: 'SAMEPIN00001' }
  assert.equal((await wire.ask('0200', purchase(service, card, same))).fields['39'], '00')
  const changed = purchase(service, card, { ...same, pin: otherDigits(card.pin) })
  assert.equal((await wire.ask('0201', changed)).fields['39'], '94')
  assert.equal(await triesOf(card), 3)
})
