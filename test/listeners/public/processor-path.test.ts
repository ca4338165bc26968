import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openTestService } from '../../support/service.ts'

test('PROCESSOR_PATH takes the place of processor in every path, and in Location', async () => {
  const service = await openTestService({ env: { PROCESSOR_PATH: 'thredd' } })
  const { headers, json, status } = await service.call('POST', '//thr/thredd/cards', {
    body: {
      cardType: 'Virtual',
      cardProduct: 1001,
      cardHolder: { firstName: 'Ana', lastName: 'Lim', dateOfBirth: '1990-04-17' },
      address: { addressLine1: 'Calle Mayor 1', postCode: '28013', country: 'ESP' },
    },
  })
  assert.equal(status, 201)
  assert.equal(headers.location, `/thr/thredd/cards/${json.publicToken}`)
  assert.equal((await service.call('GET', '//thr/thredd/products')).status, 200)
  assert.equal((await service.call('GET', '//thr/processor/products')).status, 404)
})
