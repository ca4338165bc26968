import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { chipMoney, issueChipCard, playChip } from '../../support/chip.ts'
import { ask, type IssuedCard, pinTry } from '../../support/network.ts'
import { openTestService, type TestService } from '../../support/service.ts'
import { issueWithOwnIcvv, makeContactlessTrack, makeTrack } from '../../support/stripes.ts'
import { connectSwitch, nextTrace, openLink, purchase } from '../../support/switch.ts'

let service: TestService
before(async () => {
  service = await openTestService({ env: { RATE_LIMIT: 'off' } })
})

const payJson = async (card: IssuedCard, members: object): Promise<string> => {
  const { publicToken } = card
  const body = { publicToken, ...chipMoney, ...pinTry(service, card), ...members }
  return (await ask(service, body)).json.responseCode
}

test('chip data cannot be left out at a cash machine', async () => {
  const card = await issueChipCard(service)
  const chip = await playChip(service, card)
  assert.equal(await payJson(card, { entryMode: 'atm' }), '88')
  assert.equal(await payJson(card, { entryMode: 'chip' }), '88')
  const presented = { entryMode: 'atm', chip: await chip.present({ atc: 1 }) }
  assert.equal(await payJson(card, presented), '00')
})

test('a stripe at a cash machine is a fallback where the machine reads chips', async () => {
  const card = await issueWithOwnIcvv(service, () => issueChipCard(service))
  const atm = { entryMode: 'atm', track2: await makeTrack(service, card, '201') }
  assert.equal(await payJson(card, { ...atm, fallback: true }), '57')
  assert.equal(await payJson(card, atm), '00')
  const ofChip = await makeTrack(service, card, '201', '999')
  assert.equal(await payJson(card, { ...atm, track2: ofChip }), '88', 'with its own value only')
})

for (const profile of ['ascii-1987', 'visa-public', 'mastercard-public']) {
  test(`no field 22 of ${profile} lets a chip pay without field 55`, async () => {
    const wire = await connectSwitch(await openLink(service, { profile }))
    await wire.signOn()
    const card = await issueChipCard(service)
    const { 35: _, ...fields } = purchase(service, card) as Record<string, string>
    const pay = async (mode: string, others: Record<string, string> = {}) => {
      const trace = nextTrace()
      const field22 = profile === 'visa-public' ? `${mode}0` : mode
      const numbers = { 11: trace, 22: field22, 37: trace.padStart(12, '0') }
      return (await wire.ask('0100', { ...fields, ...numbers, ...others })).fields['39']
    }
    const declined = profile === 'visa-public' ? '82' : '88'
    const atm = { 3: '010000', 18: '6011' }
    const ofChip = { 35: await makeTrack(service, card, '201', '999') }
    const ofStripe = { 35: await makeTrack(service, card, '201') }
    assert.equal(await pay('051', atm), declined, 'a chip at a cash machine')
    assert.equal(await pay('071', atm), declined)
    assert.equal(await pay('071', ofChip), declined, 'the track of a contactless chip')
    assert.equal(await pay('071', { ...atm, ...ofChip }), declined)
    assert.equal(await pay('801', ofStripe), '57', 'a fallback in a shop')
    assert.equal(await pay('801', { ...atm, ...ofStripe }), '57', 'a fallback at a cash machine')
    assert.equal(await pay('801'), '57', 'a fallback without a track')
    for (const place of [{}, atm]) {
      assert.equal(await pay('901', place), declined, 'a swipe without a track')
      assert.equal(await pay('911', place), declined, 'a contactless stripe without a track')
    }
    assert.equal(await pay('021', ofStripe), '00', 'a swipe with its track')
    const contactless = { 35: await makeContactlessTrack(service, card, 1) }
    assert.equal(await pay('911', contactless), '00', 'a contactless stripe needs no field 55')
    wire.close()
  })
}
