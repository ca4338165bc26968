import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { claimLease, releaseLease } from '../../../src/storage/engine/leases.ts'
import { openTestService, sql } from '../../support/service.ts'

test('a lease is one holder’s until it ends, is given back, or lies in a future that no clock here gave', async () => {
  const { database } = await openTestService()
  const [one, other] = [randomUUID(), randomUUID()]
  const claim = (holder: string) => claimLease(database, 'a', holder, 60)
  const moveEnd = (by: string) =>
    sql(database, `update lease set leased_until = now() + interval '${by}' where lease_name = 'a'`)
  assert.deepEqual([await claim(one), await claim(one), await claim(other)], [true, true, false])
  await moveEnd('0 seconds')
  assert.deepEqual([await claim(other), await claim(one)], [true, false])
  await releaseLease(database, 'a', other)
  assert.deepEqual([await claim(one), await claim(other)], [true, false])
  // As the clock of a server that took over, and is behind, sees it.
  await moveEnd('1 hour')
  assert.deepEqual([await claim(other), await claim(one)], [true, false])
})
