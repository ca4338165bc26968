import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { requestCardData } from '../../sdk/device/device.ts'
import { type CardDataService, openCardDataService } from './service.ts'

let service: CardDataService

before(async () => {
  service = await openCardDataService({ env: { REVEALS_PER_CLIENT_HOUR: '14' } })
})

const reveal = async (publicToken: string) => {
  const { body } = await requestCardData(service.serviceKeys, publicToken)
  return service.getCardData(publicToken, body)
}
const revealPin = (publicToken: string) => service.call('GET', `/card-pin/${publicToken}/pin`)

test('card data and PIN are told ten times an hour per card together; what is refused costs nothing', async () => {
  const { publicToken } = await service.createCard()
  const refused = await service.getCardData(publicToken, { key: 'nonsense' })
  assert.equal(refused.status, 422)
  for (let use = 1; use <= 5; use += 1) {
    assert.equal((await reveal(publicToken)).status, 200)
    assert.equal((await revealPin(publicToken)).status, 200)
  }
  for (const eleventh of [await reveal(publicToken), await revealPin(publicToken)]) {
    assert.deepEqual([eleventh.status, eleventh.json.code], [429, 'rate_limited'])
    assert.ok(Number(eleventh.headers['retry-after']) >= 1)
  }
})

test("a client's hour is one for all its cards", async () => {
  const { publicToken } = await service.createCard()
  for (let use = 11; use <= 14; use += 1) assert.equal((await reveal(publicToken)).status, 200)
  const refused = await reveal(publicToken)
  assert.deepEqual([refused.status, refused.json.code], [429, 'rate_limited'])
})
