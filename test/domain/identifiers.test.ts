import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  isProductId,
  isPublicToken,
  makeProductId,
  type ProductId,
  type PublicToken,
  parseProductId,
} from '../../src/domain/identifiers.ts'

test('a token is ten digits, the first not 0, and nothing before or after them', () => {
  for (const token of ['1000000000', '9999999999', '4820117360']) assert.ok(isPublicToken(token))
  const others = ['', '0820117360', '482011736', '48201173600', ' 4820117360', '4820117360\n']
  for (const other of [...others, '482011736a', '४८२०११७३६०', 4820117360, null, undefined]) {
    assert.equal(isPublicToken(other), false, String(other))
  }
})

test('a product’s id is a whole number that the database can have', () => {
  for (const id of [1, 1001, 2_147_483_647]) {
    assert.ok(isProductId(id))
    assert.equal(makeProductId(id), id)
  }
  for (const other of [0, -1, 1.5, 2_147_483_648, Number.NaN]) {
    assert.equal(isProductId(other), false)
    assert.throws(() => makeProductId(other), new RangeError('not the id of a product'))
  }
  assert.equal(isProductId('1001'), false)
})

test('a text names a product in one way only', () => {
  assert.equal(parseProductId('1001'), 1001)
  assert.equal(parseProductId('2147483647'), 2_147_483_647)
  const others = ['', '0', '-1', '01001', '+1001', ' 1001', '1001 ', '1e3', '0x3e9', '1001.0', 'x']
  for (const other of [...others, '2147483648']) assert.equal(parseProductId(other), null, other)
})

test('an unchecked value does not compile as a token or as a product’s id', () => {
  // @ts-expect-error A text is no token before it is parsed.
  const token: PublicToken = '4820117360'
  // @ts-expect-error Nor is a number the id of a product.
  const id: ProductId = 1001
  assert.ok(isPublicToken(token) && isProductId(id))
})
