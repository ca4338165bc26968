import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseMerchant } from '../../src/domain/merchant.ts'

test('a merchant is what its network says of it, without padding', () => {
  assert.deepEqual(
    parseMerchant(
      {
        id: 'SHOP-1         ',
        terminalId: 'TERM0001',
        name: 'Corner Bakery            ',
        city: 'Madrid       ',
        country: 'ES',
        categoryCode: '0742',
      },
      '',
    ),
    {
      id: 'SHOP-1',
      terminalId: 'TERM0001',
      name: 'Corner Bakery',
      city: 'Madrid',
      country: 'ESP',
      categoryCode: '0742',
    },
  )
})

test('what cannot be recorded of a merchant is left out, and the rest stays', () => {
  const merchant = parseMerchant(
    {
      id: 'a\u0000b',
      terminalId: '123456789',
      name: 'Card 4000000000001000',
      city: 'Mad\u202erid',
      country: 'NY',
      categoryCode: '541',
    },
    '',
  )
  assert.equal(merchant, null)
  assert.deepEqual(parseMerchant({ name: 'Bakery', country: 'NY' }, ''), { name: 'Bakery' })
})

test('no member of a merchant holds more than eight digits in a row of what makes a card number its own', () => {
  const pan = '4000001234567899'
  for (const id of [pan.slice(0, 15), pan.slice(1), `A-${pan.slice(4, 13)}`, '0001 2345 6']) {
    assert.equal(parseMerchant({ id }, pan), null, id)
  }
  for (const name of ['4000.0012.3456.7899', '0001/23/456', '０００１２３４５６']) {
    assert.equal(parseMerchant({ name }, pan), null, name)
  }
  for (const id of ['400000120000000', '000000098765432', '4000 0012 3', pan.slice(0, 8)]) {
    assert.deepEqual(parseMerchant({ id }, pan), { id })
  }
})
