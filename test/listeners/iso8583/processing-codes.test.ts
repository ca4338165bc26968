import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { selectService } from '../../../src/listeners/iso8583/network-messages.ts'
import { loadProfiles } from '../../../src/listeners/iso8583/profile.ts'
import { selectType } from '../../../src/listeners/iso8583/transaction.ts'
import { issueCard, otherDigits } from '../../support/network.ts'
import { openTestService, type TestService } from '../../support/service.ts'
import { connectSwitch, nextTrace, openLink, purchase, type Switch } from '../../support/switch.ts'

let service: TestService
let wire: Switch
before(async () => {
  service = await openTestService({ env: { RATE_LIMIT: 'off' } })
  wire = await connectSwitch(await openLink(service))
  assert.equal(await wire.signOn(), '00')
})

const declined = {
  21: 'a deposit',
  30: 'an inquiry about available funds',
  31: 'a balance inquiry',
  40: 'a transfer between accounts',
  70: 'a PIN change',
  72: 'an activation',
  91: 'a PIN unblock',
  92: 'a PIN change as Mastercard has it',
  99: 'a code that no network has',
}

for (const [code, title] of Object.entries(declined)) {
  test(`${title} is answered 57 without an approval code, and spends no try`, async () => {
    const card = await issueCard(service)
    const right = purchase(service, card, { 3: `${code}0000` })
    const wrong = purchase(service, card, { 3: `${code}3000`, pin: otherDigits(card.pin) })
    for (const [mti, fields] of [
      ['0100', right],
      ['0200', right],
      ['0201', wrong],
    ] as const) {
      const answer = await wire.ask(mti, fields)
      assert.equal(answer.fields['39'], '57')
      assert.equal(answer.fields['38'], undefined)
    }
    const status = await service.call('GET', `/card-pin/${card.publicToken}/pin/status`)
    assert.equal(status.json.remainingTries, 3)
  })
}

for (const [code, title] of Object.entries({
  '00': 'a purchase',
  '01': 'a cash withdrawal',
  '09': 'a purchase with cash',
  11: 'quasi-cash',
  17: 'a cash advance',
  20: 'a refund',
  28: 'a payment to the card',
})) {
  test(`${title} is authorized`, async () => {
    const card = await issueCard(service)
    const answer = await wire.ask('0200', purchase(service, card, { 3: `${code}0000` }))
    assert.equal(answer.fields['39'], '00')
    assert(answer.fields['38'])
  })
}

test('a message without a processing code is a format error, and spends no try', async () => {
  const card = await issueCard(service)
  const { 3: _, ...fields } = purchase(service, card, { pin: otherDigits(card.pin) })
  assert.equal((await wire.ask('0100', { ...fields, 11: nextTrace() })).fields['39'], '30')
  const status = await service.call('GET', `/card-pin/${card.publicToken}/pin/status`)
  assert.equal(status.json.remainingTries, 3)
})

test('every built-in profile declines what it does not know, and names an inquiry', async () => {
  const profiles = await loadProfiles(null)
  for (const profile of profiles.values()) {
    const asked = (fields: Record<string, string>) =>
      selectService(profile, { mti: profile.version === '1993' ? '1100' : '0100', fields })
    assert.equal(asked({ 3: '000000' }), 'authorized')
    for (const code of Object.keys(declined)) {
      const type = selectType(profile, { 3: `${code}0000` })
      assert.equal(type, ['30', '31'].includes(code) ? 'inquiry' : 'declined')
    }
    assert.equal(asked({}), 'unsaid')
    const named = selectType(profile, { 3: '000000', 24: '108' })
    assert.equal(named, profile.version === '1993' ? 'inquiry' : 'purchase')
  }
})
