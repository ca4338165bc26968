import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type LifeStatus, lifeActs, listLifeMoves } from '../../src/domain/card-life.ts'

test('a retired card allows no act, and no move makes it active again', () => {
  assert.deepEqual(lifeActs.retired, { renew: 'no', replace: 'no', convert: 'no' })
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
