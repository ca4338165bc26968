import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { PublicToken } from '../../../src/domain/identifiers.ts'
import { recordChipResults } from '../../../src/storage/chips/commands.ts'
import { chipMoney, chippedCard, type Presented, playChip } from '../../support/chip.ts'
import { openTestService, sql, type TestService } from '../../support/service.ts'

let service: TestService

before(async () => {
  service = await openTestService({ env: { RATE_LIMIT: 'off' } })
})

async function openChip() {
  const { publicToken } = await chippedCard(service, 'mastercard-20')
  const chip = await playChip(service, { publicToken }, 'mastercard-20', '00')
  const pay = async (presented: Presented) => {
    const data = await chip.present(presented)
    const named = { publicToken, entryMode: 'chip', reference: 'R-1', ...chipMoney }
    const options = { as: 'network', listener: 'private', body: { ...named, chip: data } } as const
    const { json } = await service.call('POST', '//network/authorizations', options)
    return json.responseCode
  }
  return { publicToken, pay }
}

const readTries = async (publicToken: PublicToken) =>
  (await service.call('GET', `/card-pin/${publicToken}/pin/status`)).json.remainingOfflineTries

test('what a chip reported last of its PIN is not replaced by an older report', async () => {
  const { pay, publicToken } = await openChip()
  await pay({ atc: 1, report: { remainingOfflineTries: 3 } })
  await pay({ atc: 9, report: { remainingOfflineTries: 1 } })
  assert.equal(await readTries(publicToken), 1)
  // An advice that was stored for a while, and a request that was slower than another one.
  await recordChipResults(service.database, {
    publicToken,
    panSequenceNumber: '00',
    atc: 1,
    sent: [],
    done: [],
    failed: [],
    unconfirmed: [],
    remainingOfflineTries: 3,
  })
  assert.equal(await readTries(publicToken), 1)
  assert.equal(await pay({ atc: 5, report: { remainingOfflineTries: 2 } }), '00')
  assert.equal(await readTries(publicToken), 1)
})

test('a first cryptogram that no authorization used leaves the counters below it free', async () => {
  const { pay, publicToken } = await openChip()
  const use = { panSequenceNumber: '00', atc: 40, keyVersion: 1, atcWindow: 16 }
  // As for a request whose idempotency key was taken by another one.
  await sql(service.database, 'select lock_chip($1, $2::jsonb)', [publicToken, JSON.stringify(use)])
  assert.equal(await pay({ atc: 2 }), '00')
  assert.equal(await pay({ atc: 2 }), '88')
  assert.equal(await pay({ atc: 40 }), '00')
})
