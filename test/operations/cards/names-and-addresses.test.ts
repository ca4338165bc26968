/**
 * Persons and addresses as they are: one name, no postal code, and a date of birth that can be one.
 */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { isCountryCode } from '../../../src/domain/countries.ts'
import { mayLackPostalCode } from '../../../src/domain/postal-codes.ts'
import { newCard, openTestService, type TestService } from '../../support/service.ts'

let service: TestService
before(async () => {
  service = await openTestService()
})

const dateOfBirth = '1990-04-17'
const holder = (members: object) => ({
  cardHolder: { firstName: 'Ana', lastName: 'Lim', dateOfBirth, ...members },
})
const create = (members: object) => service.call('POST', '/cards', { body: newCard(members) })

const pointersOf = async (members: object): Promise<string[]> => {
  const { json, status } = await create(members)
  assert.equal(status, 422)
  return [...new Set<string>(json.errors.map(({ pointer }: { pointer: string }) => pointer))]
}

test('a person with one name has it as firstName, and stands on the card by it', async () => {
  const created = await create(holder({ firstName: 'Suharto', lastName: '' }))
  assert.equal(created.status, 201, created.text)
  assert.equal(created.json.embossName, 'SUHARTO')
  const path = `//cards/${created.json.publicToken}/cardholder`
  const shown = await service.call('POST', path, { as: 'admin', listener: 'private' })
  assert.deepEqual([shown.json.firstName, shown.json.lastName], ['Suharto', ''])
})

test('a name is not left out, and is not empty twice', async () => {
  assert.deepEqual(await pointersOf(holder({ firstName: '' })), ['/cardHolder/firstName'])
  assert.deepEqual(await pointersOf(holder({ firstName: '', lastName: '' })), [
    '/cardHolder/firstName',
  ])
  assert.deepEqual(await pointersOf(holder({ lastName: undefined })), ['/cardHolder/lastName'])
  assert.deepEqual(await pointersOf(holder({ lastName: ' ' })), ['/cardHolder/lastName'])
})

test('a postal code is empty only where the country has none, and is given in every address', async () => {
  const address = { addressLine1: 'Tower 1', city: 'Dubai', postCode: '', country: 'ARE' }
  assert.equal((await create({ address })).status, 201)
  assert.equal((await create({ address: { ...address, country: 'HKG' } })).status, 201)
  assert.equal((await create({ address: { ...address, postCode: '00000' } })).status, 201)
  assert.deepEqual(await pointersOf({ address: { ...address, country: 'ESP' } }), [
    '/address/postCode',
  ])
  const physical = { cardType: 'Physical', fulfilment: { ...address, country: 'DEU' } }
  assert.deepEqual(await pointersOf(physical), ['/fulfilment/postCode'])
  const { postCode: _, ...without } = address
  assert.deepEqual(await pointersOf({ address: without }), ['/address/postCode'])
})

test('the table of countries without postal codes has codes of countries alone', () => {
  for (const country of ['ARE', 'HKG', 'QAT', 'PAN', 'JAM', 'ZWE']) {
    assert.ok(isCountryCode(country) && mayLackPostalCode(country), country)
  }
  for (const country of ['ESP', 'USA', 'GBR', 'IRL', 'are', '']) {
    assert.ok(!mayLackPostalCode(country), country)
  }
})

test('a date of birth that makes a person older than 150 years is refused', async () => {
  const [year = 0, rest = ''] = [new Date().getUTCFullYear(), '-01-01']
  assert.equal((await create(holder({ dateOfBirth: `${year - 149}${rest}` }))).status, 201)
  for (const born of [`${year - 151}${rest}`, '1368-07-12', '0001-01-01']) {
    assert.deepEqual(await pointersOf(holder({ dateOfBirth: born })), ['/cardHolder/dateOfBirth'])
  }
})
