import assert from 'node:assert/strict'
import { before, beforeEach, test } from 'node:test'
import { product } from '../../support/builders.ts'
import { type IssuedCard, issueCard } from '../../support/network.ts'
import { openTestService, sql, type TestService } from '../../support/service.ts'

/** Cards that are replaced or renewed after their last day. */

let service: TestService

before(async () => {
  service = await openTestService({
    env: { RATE_LIMIT: 'off', SANDBOX_CLOCK: '2031-03-15T10:00:00Z' },
  })
  await product(service.database, { productId: 2200, bin: '40000222' })
})

let year = 2031
beforeEach(async () => {
  year += 1
  await moveTo(`${year}-03-15`)
})

async function moveTo(day: string): Promise<void> {
  const options = { as: 'admin', listener: 'private' } as const
  const body = { now: `${day}T10:00:00Z` }
  const answer = await service.call('POST', '//sandbox/clock', { ...options, body })
  assert.equal(answer.status, 200, answer.text)
}

const physicalCard = (expiryDate: string): Promise<IssuedCard> =>
  issueCard(service, { cardProduct: 2200, cardType: 'Physical', activateNow: true, expiryDate })

const act = (publicToken: string, name: string, body: object = {}) =>
  service.call('POST', `/cards/${publicToken}/${name}`, { body })

/** Undoes the sweep of a card: the status that is stored is the one before its expiry. */
const unsweep = (publicToken: string) =>
  sql(
    service.database,
    `update card set status_code = status_before_expiry, status_before_expiry = null
     where public_token = $1`,
    [publicToken],
  )

const readCard = async (publicToken: string) => {
  const [row] = await sql<{ status: string; isRetired: boolean; retirements: number }>(
    service.database,
    `select status_code as "status", retired_at is not null as "isRetired", (
       select count(*)::integer from event
       where event.public_token = card.public_token and type = 'card.retired'
     ) as "retirements"
     from card where public_token = $1`,
    [publicToken],
  )
  return row
}

for (const isSwept of [true, false]) {
  for (const reason of ['Lost', 'Stolen', 'Compromised']) {
    const state = isSwept ? 'swept' : 'not swept'
    test(`an expired card that is ${reason} is retired for ever (${state})`, async () => {
      const { publicToken } = await physicalCard(`${year}-04`)
      await moveTo(`${year}-05-10`)
      if (!isSwept) await unsweep(publicToken)
      const replaced = await act(publicToken, 'replace', { reason })
      assert.equal(replaced.status, 200, replaced.text)
      assert.deepEqual(await readCard(publicToken), {
        status: '54',
        isRetired: true,
        retirements: 1,
      })
      const renewed = await act(publicToken, 'renew', { activateNow: true })
      assert.deepEqual([renewed.status, renewed.json.code], [409, 'card_already_replaced'])
      const successor = `/cards/${replaced.json.publicToken}/status`
      const body = { cardStatusCode: '46' }
      assert.equal((await service.call('PUT', successor, { body })).status, 204)
      assert.equal((await act(publicToken, 'renew', { activateNow: true })).status, 409)
    })
  }
}

test('an expired card that is retired has the status 54, and an event of its expiry', async () => {
  const { publicToken } = await physicalCard(`${year}-04`)
  assert.equal((await act(publicToken, 'replace')).status, 200)
  await moveTo(`${year}-05-10`)
  await unsweep(publicToken)
  const completed = await service.call('PUT', `/cards/${publicToken}/complete-replacement`)
  assert.equal(completed.status, 204, completed.text)
  assert.deepEqual(await readCard(publicToken), { status: '54', isRetired: true, retirements: 1 })
})

test('a plastic that waited until it expired is ended by the next order', async () => {
  const { publicToken } = await physicalCard(`${year}-05`)
  const ordered = await act(publicToken, 'renew', { expiryDate: `${year}-06` })
  assert.equal(ordered.status, 204, ordered.text)
  const delivery = `/sandbox/plastics/${publicToken}/1/deliver`
  assert.equal((await service.call('POST', delivery)).status, 204)
  await moveTo(`${year}-07-02`)
  const renewed = await act(publicToken, 'renew')
  assert.equal(renewed.status, 204, renewed.text)
  const plastics = await sql(
    service.database,
    `select plastic_number, state, delivery_status from plastic
     where public_token = $1 order by plastic_number`,
    [publicToken],
  )
  assert.deepEqual(plastics, [
    { plastic_number: 0, state: 'Current', delivery_status: 'Ordered' },
    { plastic_number: 1, state: 'Cancelled', delivery_status: 'Delivered' },
    { plastic_number: 2, state: 'Waiting', delivery_status: 'Ordered' },
  ])
  const migrated = await act(publicToken, 'renew', { renewStep: 'Migrate' })
  assert.equal(migrated.status, 204, migrated.text)
  assert.equal((await readCard(publicToken))?.status, '00')
})

test('a successor that expired unused is retired when the card is replaced again', async () => {
  const { publicToken } = await physicalCard(`${year}-09`)
  const first = await act(publicToken, 'replace', { expiryDate: `${year}-04` })
  assert.equal(first.status, 200, first.text)
  await moveTo(`${year}-05-10`)
  const second = await act(publicToken, 'replace')
  assert.equal(second.status, 200, second.text)
  const passedOver = first.json.publicToken
  assert.deepEqual(await readCard(passedOver), { status: '54', isRetired: true, retirements: 1 })
  assert.equal((await act(passedOver, 'renew')).json.code, 'card_already_replaced')
  const move = { body: { cardStatusCode: '00' } }
  const refused = await service.call('PUT', `/cards/${passedOver}/status`, move)
  assert.equal(refused.json.code, 'card_status_conflict')
  assert.match(refused.json.detail, /and retired, .* This status is final\.$/)
})
