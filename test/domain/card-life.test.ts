import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  chooseSequenceNumber,
  findPresentedPlastic,
  type LifeStatus,
  lifeActs,
  listLifeMoves,
} from '../../src/domain/card-life.ts'

test('a retired card is neither renewed nor converted, and no move makes it active again', () => {
  const { convert, renew } = lifeActs.retired
  assert.deepEqual([renew, convert], ['no', 'no'])
  assert.deepEqual(listLifeMoves('retired'), ['41', '43', '46', '83'])
})

test('an active card can be renewed, replaced and converted; a destroyed one cannot', () => {
  assert.deepEqual(lifeActs['00'], { renew: 'yes', replace: 'yes', convert: 'yes' })
  assert.deepEqual(lifeActs['46'], { renew: 'no', replace: 'no', convert: 'no' })
})

test('only an expired card depends on the months of grace', () => {
  const graced = (Object.keys(lifeActs) as LifeStatus[]).filter((status) =>
    Object.values(lifeActs[status]).includes('within_grace'),
  )
  assert.deepEqual(graced, ['54'])
})

test('the chip of each plastic is found under any first number, and 00 follows 99', () => {
  const plastics = { plasticNumber: 1, lastPlasticNumber: 2 }
  for (const [first, numbers] of [
    [0, ['00', '01', '02', '03']],
    [1, ['01', '02', '03', '04']],
    [99, ['99', '00', '01', '02']],
  ] as const) {
    const found = numbers.map((number) => findPresentedPlastic(number, plastics, first))
    assert.deepEqual(found, ['former', 'current', 'newest', 'unknown'])
  }
  assert.equal(findPresentedPlastic('00', plastics, 1), 'unknown')
})

test('another virtual chip has the next number, and never that of a retired plastic', () => {
  assert.equal(chooseSequenceNumber(0, null, 0), '00')
  assert.equal(chooseSequenceNumber(0, '00', 0), '01')
  assert.equal(chooseSequenceNumber(3, '01', 0), '03')
  assert.equal(chooseSequenceNumber(0, null, 1), '01')
  assert.equal(chooseSequenceNumber(3, '02', 1), '04')
  assert.equal(chooseSequenceNumber(1, null, 99), '00')
})
