import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { requestCardData } from '../../sdk/device/device.ts'
import type { CreatedCard } from '../support/service.ts'
import { type CardDataService, openCardDataService, relay } from './service.ts'

let service: CardDataService
let card: CreatedCard

before(async () => {
  service = await openCardDataService({ env: { RATE_LIMIT: 'off' } })
  card = await service.createCard()
})

const forms = ['deviceKey', 'sessionKey'] as const

const open = async (form: (typeof forms)[number], includePin = false) => {
  const request = await requestCardData(service.serviceKeys, card.publicToken, { form, includePin })
  return request.open(await relay(service, card.publicToken, request.body))
}

test('in both forms the device reads the card that was issued, with the CVV2 that is accepted', async () => {
  for (const form of forms) {
    const { cvv, expiryDate, pan, pin } = await open(form)
    assert.equal(`${pan.slice(0, 6)}******${pan.slice(-4)}`, card.maskedPan)
    assert.equal(expiryDate, card.expiryDate.slice(0, 7))
    assert.equal(pin, undefined)
    const body = { publicToken: card.publicToken, cvv, entryMode: 'ecommerce' }
    const decided = await service.call('POST', '/simulator/authorizations', { body })
    assert.equal(decided.json.cvv.result, 'match', form)
  }
})
