import assert from 'node:assert/strict'
import test from 'node:test'
import { findCountryCode, findCountryNumber, isCountryNumber } from '../../src/domain/countries.ts'

test('each country with a number has one of three digits that no other has', () => {
  const letters = Array.from({ length: 26 }, (_, at) => String.fromCharCode(65 + at))
  const pairs = letters.flatMap((first) => letters.map((second) => first + second))
  const countries = pairs.flatMap((pair) => findCountryCode(pair) ?? [])
  const numbers = countries.flatMap((country) => findCountryNumber(country) ?? [])
  assert.equal(countries.length - numbers.length, 1, 'Kosovo has none')
  assert.equal(new Set(numbers).size, numbers.length)
  assert.ok(numbers.every((number) => /^[0-9]{3}$/.test(number) && isCountryNumber(number)))
  assert.deepEqual(['ESP', 'GBR', 'USA'].map(findCountryNumber), ['724', '826', '840'])
  assert.equal(isCountryNumber('999'), false)
})
