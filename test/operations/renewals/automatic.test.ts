import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { sweepCards } from '../../../src/operations/renewals/automatic.ts'
import { databaseEngines } from '../../support/engines.ts'
import { openTestService, sql, type TestService } from '../../support/service.ts'

for (const { name, open, skip } of databaseEngines) {
  suite(`automatic renewals, on ${name}`, { skip }, () => {
    let service: TestService
    before(async () => {
      const env = { RATE_LIMIT: 'off', SANDBOX_CLOCK: '2031-03-15T10:00:00Z' }
      service = await openTestService({ database: await open(), env })
      await setProduct({ renewalType: 'Automatic', renewalLeadDays: 45 })
    })

    const asAdmin = { as: 'admin', listener: 'private' } as const
    const setProduct = async (body: object) => {
      const { status } = await service.call('PATCH', '//products/1001', { ...asAdmin, body })
      assert.equal(status, 200)
    }
    const moveTo = async (now: string) => {
      const { status } = await service.call('POST', '//sandbox/clock', {
        ...asAdmin,
        body: { now },
      })
      assert.equal(status, 200)
    }
    /** What happened to a card after it was made: each type, with the days left or the status. */
    const listActs = async (publicToken: string) =>
      (
        await sql<{ type: string; details: string }>(
          service.database,
          `select type, details from event
           where public_token = $1 and type <> 'card.created' order by sequence`,
          [publicToken],
        )
      ).map(({ details, type }) => {
        const { daysLeft, expiryDate, to } = JSON.parse(details)
        return `${type} ${daysLeft ?? expiryDate ?? to}`
      })
    const createCard = async (members: object) => (await service.createCard(members)).publicToken

    test('a clock that is moved over eight years notifies, renews and expires in order, each once', async () => {
      const virtual = await createCard({ cardType: 'Virtual' })
      const physical = await createCard({ cardType: 'Physical', activateNow: true })
      const manual = await createCard({ cardType: 'Virtual' })
      await sql(
        service.database,
        "update card set renewal_type = 'Manual' where public_token = $1",
        [manual],
      )
      await moveTo('2039-05-01T00:00:00Z')
      assert.deepEqual(await listActs(virtual), [
        'card.renewal_due 60',
        'card.renewal_due 30',
        'card.renewed 2039-03-31',
        'card.renewal_due 60',
        'card.renewal_due 30',
        'card.renewed 2043-03-31',
      ])
      assert.deepEqual(await listActs(physical), [
        'card.renewal_due 60',
        'card.renewal_ordered 2039-03-31',
        'card.status_changed 54',
      ])
      assert.deepEqual(await listActs(manual), [
        'card.renewal_due 60',
        'card.renewal_due 30',
        'card.status_changed 54',
      ])
    })

    test('steps of the clock do what one move does, and repeated sweeps do nothing', async () => {
      const card = await createCard({ cardType: 'Virtual', expiryDate: '2039-08' })
      for (const day of ['2039-06-30', '2039-07-02', '2039-07-31', '2039-08-01', '2039-08-02']) {
        await moveTo(`${day}T00:00:00Z`)
      }
      await Promise.all([1, 2, 3].map(() => sweepCards(service.issuing)))
      assert.deepEqual(await listActs(card), ['card.renewal_due 60', 'card.renewal_due 30'])
      await moveTo('2039-08-31T00:00:00Z')
      await Promise.all([1, 2, 3].map(() => sweepCards(service.issuing)))
      assert.deepEqual((await listActs(card)).slice(2), ['card.renewed 2043-08-31'])
    })

    test('the type of a card comes before that of its product', async () => {
      await setProduct({ renewalType: 'Manual' })
      const [follows, own] = await Promise.all([
        createCard({ cardType: 'Virtual', expiryDate: '2039-10' }),
        createCard({ cardType: 'Virtual', expiryDate: '2039-10' }),
      ])
      await sql(
        service.database,
        "update card set renewal_type = 'Automatic' where public_token = $1",
        [own],
      )
      await moveTo('2039-11-01T00:00:00Z')
      assert.equal((await listActs(follows ?? '')).at(-1), 'card.status_changed 54')
      assert.equal((await listActs(own ?? '')).at(-1), 'card.renewed 2043-10-31')
      await setProduct({ renewalType: 'Automatic' })
    })

    test('a closed card gets no notice and no renewal', async () => {
      const card = await createCard({ cardType: 'Virtual', expiryDate: '2039-12' })
      await service.call('PUT', `/cards/${card}/status`, { body: { cardStatusCode: '83' } })
      await moveTo('2040-02-01T00:00:00Z')
      assert.deepEqual(await listActs(card), ['card.status_changed 83'])
    })

    test('a card whose notice or renewal fails keeps no other card from being swept', async () => {
      const failing = await createCard({ cardType: 'Virtual', expiryDate: '2040-03' })
      const renewed = await createCard({ cardType: 'Virtual', expiryDate: '2040-03' })
      const expiring = await createCard({ cardType: 'Virtual', expiryDate: '2040-03' })
      await sql(
        service.database,
        "update card set renewal_type = 'Manual' where public_token = $1",
        [expiring],
      )
      // Neither its notice nor its renewal can be stored.
      const constraint = 'no_event_of_this_card'
      await sql(
        service.database,
        `alter table event add constraint ${constraint}
         check (public_token <> '${failing}' or type not like 'card.rene%') not valid`,
      )
      for (const day of ['2040-03-31', '2040-04-01']) {
        const now = () => new Date(`${day}T00:00:00Z`)
        await assert.rejects(
          sweepCards({ database: service.database, now }),
          (error) => error instanceof AggregateError,
        )
      }
      await sql(service.database, `alter table event drop constraint ${constraint}`)
      assert.equal((await listActs(renewed)).at(-1), 'card.renewed 2044-03-31')
      const acts = await listActs(expiring)
      assert.ok(acts.includes('card.renewal_due 0'), `${acts}`)
      assert.equal(acts.at(-1), 'card.status_changed 54')
    })

    test('an ordered renewal that was cancelled is ordered again by the next sweep', async () => {
      const card = await createCard({
        cardType: 'Physical',
        activateNow: true,
        expiryDate: '2040-04',
      })
      await moveTo('2040-03-20T00:00:00Z')
      assert.equal((await service.call('DELETE', `/cards/${card}/renewal`)).status, 204)
      await sweepCards(service.issuing)
      assert.deepEqual(
        (await listActs(card)).map((act) => act.split(' ')[0]),
        [
          'card.renewal_due',
          'card.renewal_ordered',
          'card.renewal_cancelled',
          'card.renewal_ordered',
        ],
      )
    })

    test('a copy of a plastic that waits silences no notice, and gives way to the renewal', async () => {
      const [ordered, produced] = await Promise.all([
        createCard({ cardType: 'Physical', activateNow: true, expiryDate: '2040-06' }),
        createCard({ cardType: 'Physical', activateNow: true, expiryDate: '2040-06' }),
      ])
      const body = { renewStep: 'RenewWithSameExpiry' }
      for (const card of [ordered, produced]) {
        assert.equal((await service.call('POST', `/cards/${card}/renew`, { body })).status, 204)
      }
      // Its holder may be about to use it.
      await sql(
        service.database,
        `update plastic set delivery_status = 'Delivered'
         where public_token = $1 and state = 'Waiting'`,
        [produced],
      )
      await moveTo('2040-07-02T00:00:00Z')
      const renewal = ['card.renewal_cancelled undefined', 'card.renewal_ordered 2044-06-30']
      assert.deepEqual(await listActs(ordered ?? ''), [
        'card.renewal_ordered 2040-06-30',
        'card.renewal_due 60',
        ...renewal,
      ])
      assert.deepEqual(await listActs(produced ?? ''), [
        'card.renewal_ordered 2040-06-30',
        'card.renewal_due 60',
        'card.renewal_due 30',
        ...renewal,
      ])
    })

    test('a copy of a plastic repeats no notice', async () => {
      const card = await createCard({
        cardType: 'Physical',
        activateNow: true,
        expiryDate: '2040-10',
      })
      await sql(
        service.database,
        "update card set renewal_type = 'Manual' where public_token = $1",
        [card],
      )
      await moveTo('2040-09-15T00:00:00Z')
      const body = { renewStep: 'RenewWithSameExpiry', activateNow: true }
      assert.equal((await service.call('POST', `/cards/${card}/renew`, { body })).status, 204)
      await moveTo('2040-10-20T00:00:00Z')
      const notices = (await listActs(card)).filter((act) => act.startsWith('card.renewal_due'))
      assert.deepEqual(notices, ['card.renewal_due 60', 'card.renewal_due 30'])
    })
  })
}
