import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, suite, test } from 'node:test'
import { sweep } from '../../../src/operations/cards/status.ts'
import { databaseEngines } from '../../support/engines.ts'
import { type CreatedCard, openTestService, sql, type TestService } from '../../support/service.ts'

interface Plastic {
  readonly plasticNumber: number
  readonly reason: string
  readonly state: string
  readonly expiryDate: string
  readonly deliveryStatus: string | null
}

for (const { name, open, skip } of databaseEngines) {
  suite(`the plastics of a card, on ${name}`, { skip }, () => {
    let service: TestService
    before(async () => {
      const env = { RATE_LIMIT: 'off', SANDBOX_CLOCK: '2031-03-15T10:00:00Z' }
      service = await openTestService({ database: await open(), env })
    })

    const moveTo = async (now: string): Promise<void> => {
      const call = { as: 'admin', listener: 'private', body: { now } } as const
      assert.equal((await service.call('POST', '//sandbox/clock', call)).status, 200)
    }
    const physical = (members: object = {}): Promise<CreatedCard> =>
      service.createCard({ cardType: 'Physical', activateNow: true, ...members })
    const pay = async (publicToken: string) => {
      const body = { publicToken, entryMode: 'ecommerce' }
      return (await service.call('POST', '/simulator/authorizations', { body })).json.responseCode
    }
    const renew = (publicToken: string, body?: object) =>
      service.call('POST', `/cards/${publicToken}/renew`, body ? { body } : {})
    const cancel = (publicToken: string) => service.call('DELETE', `/cards/${publicToken}/renewal`)
    const convert = (publicToken: string, body: object = { cardType: 'Physical' }) =>
      service.call('PUT', `/cards/${publicToken}/card-type`, { body })
    const setStatus = async (publicToken: string, cardStatusCode: string) => {
      const body = { cardStatusCode }
      const { status } = await service.call('PUT', `/cards/${publicToken}/status`, { body })
      assert.equal(status, 204)
    }
    const read = async (publicToken: string) =>
      (await service.call('GET', `/cards/${publicToken}`)).json
    const plastics = (publicToken: string) =>
      sql<Plastic>(
        service.database,
        `select plastic_number as "plasticNumber", reason, state,
           expiry_date::text as "expiryDate", delivery_status as "deliveryStatus"
         from plastic where public_token = $1 order by plastic_number`,
        [publicToken],
      )
    const states = async (publicToken: string) =>
      (await plastics(publicToken)).map(({ state }) => state)
    const events = async (publicToken: string) => {
      const rows = await sql<{ type: string; details: string }>(
        service.database,
        'select type, details from event where public_token = $1 order by sequence',
        [publicToken],
      )
      return rows.map(({ details, type }) => ({ type, ...JSON.parse(details) }))
    }
    const produce = (publicToken: string, deliveryStatus: string) =>
      sql(
        service.database,
        `update plastic set delivery_status = $2 where public_token = $1 and state = 'Waiting'`,
        [publicToken, deliveryStatus],
      )
    const assertRefused = (
      { json, status }: Awaited<ReturnType<typeof renew>>,
      code: string,
      httpStatus = 409,
    ) => assert.deepEqual([status, json?.code], [httpStatus, code])

    test('a physical card works on with its plastic until the ordered one becomes current', async () => {
      const card = await physical({ expiryDate: '2031-05' })
      assert.equal((await renew(card.publicToken)).status, 204)
      assert.equal((await read(card.publicToken)).expiryDate, '2031-05-31')
      assert.equal(await pay(card.publicToken), '00')
      assert.equal((await renew(card.publicToken, { renewStep: 'Migrate' })).status, 204)
      const { cardStatusCode, expiryDate, startDate } = await read(card.publicToken)
      assert.deepEqual([cardStatusCode, expiryDate, startDate], ['00', '2035-05-31', '2031-03-15'])
      assert.deepEqual(await plastics(card.publicToken), [
        {
          plasticNumber: 0,
          reason: 'Issue',
          state: 'Retired',
          expiryDate: '2031-05-31',
          deliveryStatus: 'Cancelled',
        },
        {
          plasticNumber: 1,
          reason: 'Renewal',
          state: 'Current',
          expiryDate: '2035-05-31',
          deliveryStatus: 'Ordered',
        },
      ])
      const renewal = { plasticNumber: 1, reason: 'Renewal', expiryDate: '2035-05-31' }
      assert.deepEqual(
        (await events(card.publicToken)).filter(({ type }) => type.startsWith('card.renew')),
        [
          { type: 'card.renewal_ordered', ...renewal },
          { type: 'card.renewed', ...renewal, cardStatusCode: '00' },
        ],
      )
    })

    test('a virtual card is renewed at once, and keeps its number, its PIN and its tries', async () => {
      const card = await service.createCard({ expiryDate: '2031-05' })
      const body = { publicToken: card.publicToken, cvv: '0000' }
      await service.call('POST', '/simulator/authorizations', { body })
      const before = await read(card.publicToken)
      assert.equal(before.cvvStatus.remainingTries, 2)
      assert.equal((await renew(card.publicToken)).status, 204)
      const after = await read(card.publicToken)
      assert.deepEqual(after, { ...before, startDate: '2031-03-15', expiryDate: '2035-05-31' })
      const refused = await renew(card.publicToken, { renewStep: 'Migrate' })
      assertRefused(refused, 'nothing_to_migrate')
      assert.match(refused.json.detail, /^Order one first: Renew/)
      assert.deepEqual(await states(card.publicToken), ['Retired', 'Current'])
    })

    test('a renewal that comes too early is refused with the earliest day, a reprint never is', async () => {
      const { publicToken } = await physical({ expiryDate: '2031-07' })
      const refused = await renew(publicToken)
      assertRefused(refused, 'renewal_not_due')
      assert.match(refused.json.detail, /2031-05-02/)
      assert.equal((await renew(publicToken, { renewStep: 'RenewWithSameExpiry' })).status, 204)
      const [, reprint] = await plastics(publicToken)
      assert.deepEqual([reprint?.reason, reprint?.expiryDate], ['Reprint', '2031-07-31'])
    })

    test('an expiry of the client’s must be later, and within the validity of the product', async () => {
      const { publicToken } = await physical({ expiryDate: '2031-05' })
      for (const expiryDate of ['2031-05', '2031-04', '2035-06', '2031-13']) {
        const refused = await renew(publicToken, { expiryDate })
        assertRefused(refused, 'validation_failed', 422)
        assert.equal(refused.json.errors[0].pointer, '/expiryDate')
      }
      assert.equal(
        (await renew(publicToken, { expiryDate: '2031-06', activateNow: true })).status,
        204,
      )
      assert.equal((await read(publicToken)).expiryDate, '2031-06-30')
    })

    test('a member that a step does not have is refused', async () => {
      const { publicToken } = await physical({ expiryDate: '2031-05' })
      for (const [step, member, value] of [
        ['Migrate', 'expiryDate', '2033-01'],
        ['RenewWithSameExpiry', 'expiryDate', '2033-01'],
        ['Migrate', 'activateNow', true],
        ['Migrate', 'freetext1', 'By courier'],
        ['Migrate', 'freetext2', 'By courier'],
      ] as const) {
        const refused = await renew(publicToken, { renewStep: step, [member]: value })
        assertRefused(refused, 'validation_failed', 422)
        assert.equal(refused.json.errors[0].pointer, `/${member}`)
      }
      assert.deepEqual(await states(publicToken), ['Current'])
    })

    test('a second renewal is refused while a plastic waits, and after it is cancelled is not', async () => {
      const { publicToken } = await physical({ expiryDate: '2031-05' })
      assert.equal((await renew(publicToken)).status, 204)
      const refused = await renew(publicToken)
      assertRefused(refused, 'renewal_in_progress')
      assert.match(refused.json.detail, /^Plastic 1 waits, .* cancel the renewal first\.$/)
      const again = { renewStep: 'RenewWithSameExpiry', activateNow: true }
      assertRefused(await renew(publicToken, again), 'renewal_in_progress')
      assert.equal((await cancel(publicToken)).status, 204)
      assertRefused(await cancel(publicToken), 'nothing_to_migrate')
      assert.equal((await renew(publicToken)).status, 204)
      // No batch took the first order, so that its number is that of the second.
      assert.deepEqual(await states(publicToken), ['Current', 'Waiting'])
      assert.deepEqual(
        (await events(publicToken))
          .slice(1)
          .map(({ plasticNumber, type }) => [type, plasticNumber]),
        [
          ['card.renewal_ordered', 1],
          ['card.renewal_cancelled', 1],
          ['card.renewal_ordered', 1],
        ],
      )
    })

    test('an order that a batch took, or that the bureau made, leaves its number to no other', async () => {
      const { publicToken } = await physical({ expiryDate: '2031-05' })
      await renew(publicToken)
      await sql(
        service.database,
        'update plastic set batch_id = $2 where public_token = $1 and plastic_number = 1',
        [publicToken, randomUUID()],
      )
      assert.equal((await cancel(publicToken)).status, 204)
      await renew(publicToken)
      const path = `/cards/${publicToken}/renewal?notReceived=true`
      assert.equal((await service.call('DELETE', path)).status, 204)
      await renew(publicToken)
      assert.deepEqual(await states(publicToken), ['Current', 'Cancelled', 'Cancelled', 'Waiting'])
    })

    test('a renewal is cancelled until its plastic is produced, and after it was returned', async () => {
      const { publicToken } = await physical({ expiryDate: '2031-05' })
      await renew(publicToken)
      for (const delivery of ['Produced', 'Shipped', 'Delivered']) {
        await produce(publicToken, delivery)
        const refused = await cancel(publicToken)
        assertRefused(refused, 'renewal_produced')
        assert.equal(
          refused.json.detail,
          `Plastic 1 is ${delivery}. Migrate makes it current. ` +
            'If it was lost on its way, cancel it with notReceived.',
        )
      }
      await produce(publicToken, 'Returned')
      assertRefused(await renew(publicToken, { renewStep: 'Migrate' }), 'nothing_to_migrate')
      assert.equal((await cancel(publicToken)).status, 204)
    })

    test("a closed card has no further plastic, and its ordered one is left to the bureau's next batch", async () => {
      for (const code of ['41', '43', '46', '83']) {
        const { publicToken } = await physical({ expiryDate: '2031-05' })
        assert.equal((await renew(publicToken)).status, 204)
        await setStatus(publicToken, code)
        assertRefused(await renew(publicToken), 'card_closed')
        assertRefused(await renew(publicToken, { renewStep: 'Migrate' }), 'card_closed')
        assertRefused(await cancel(publicToken), 'card_closed')
      }
    })

    test('a retired card has no further plastic', async () => {
      const { publicToken } = await physical({ expiryDate: '2031-05' })
      await setStatus(publicToken, '62')
      await sql(service.database, 'update card set retired_at = now() where public_token = $1', [
        publicToken,
      ])
      assertRefused(await renew(publicToken), 'card_closed')
    })

    test('a renewal keeps the status of the card: an inactive or a frozen one stays that', async () => {
      const inactive = await physical({ activateNow: false, expiryDate: '2031-05' })
      const frozen = await physical({ expiryDate: '2031-05' })
      await setStatus(frozen.publicToken, '62')
      for (const [{ publicToken }, status] of [
        [inactive, '02'],
        [frozen, '62'],
      ] as const) {
        assert.equal((await renew(publicToken, { activateNow: true })).status, 204)
        assert.equal((await read(publicToken)).cardStatusCode, status)
      }
    })

    test('a converted card is physical with the same expiry, and its tries do not move', async () => {
      const card = await service.createCard({ metadata: { costCentre: '4711' } })
      const { status, json } = await convert(card.publicToken)
      assert.equal(status, 200)
      const after = await read(card.publicToken)
      const { cvvStatus, pinStatus } = after
      assert.deepEqual(json, after)
      assert.deepEqual([json.metadata, json.retired], [{ costCentre: '4711' }, false])
      assert.equal(after.cardType, 'Physical')
      assert.deepEqual([cvvStatus.remainingTries, pinStatus.remainingTries], [3, 3])
      const [first, second] = await plastics(card.publicToken)
      assert.deepEqual(
        [first?.state, second?.state, second?.reason, second?.deliveryStatus],
        ['Retired', 'Current', 'Conversion', 'Ordered'],
      )
      assert.equal(first?.expiryDate, second?.expiryDate)
      assertRefused(await convert(card.publicToken), 'conversion_not_supported', 422)
      const virtual = await service.createCard()
      const again = await convert(virtual.publicToken, { cardType: 'virtual' })
      assertRefused(again, 'validation_failed', 422)
      await setStatus(virtual.publicToken, '62')
      assertRefused(await convert(virtual.publicToken), 'card_status_conflict')
      await setStatus(virtual.publicToken, '46')
      assertRefused(await convert(virtual.publicToken), 'card_closed')
    })

    test('of racing renewals, one is ordered; of racing ends of it, one is done', async () => {
      const { publicToken } = await physical({ expiryDate: '2031-05' })
      const ordered = await Promise.all(Array.from({ length: 20 }, () => renew(publicToken)))
      assert.equal(ordered.filter(({ status }) => status === 204).length, 1)
      for (const each of ordered.filter(({ status }) => status !== 204)) {
        assert.ok(['renewal_in_progress', 'unavailable'].includes(each.json.code), each.text)
      }
      const ended = await Promise.all(
        Array.from({ length: 20 }, (_, at) =>
          at % 2 ? cancel(publicToken) : renew(publicToken, { renewStep: 'Migrate' }),
        ),
      )
      assert.equal(ended.filter(({ status }) => status === 204).length, 1)
      const found = await states(publicToken)
      assert.ok(found.join() === 'Retired,Current' || found.join() === 'Current,Cancelled')
      const sequences = await sql<{ sequence: number }>(
        service.database,
        'select sequence from event where public_token = $1 order by sequence',
        [publicToken],
      )
      assert.deepEqual(
        sequences.map(({ sequence }) => sequence),
        // The order of the former plastic is cancelled, too, if the new one is current.
        found.join() === 'Retired,Current' ? [1, 2, 3, 4] : [1, 2, 3],
      )
    })

    test('a renewal plastic that was lost on its way is cancelled, and another is ordered', async () => {
      const { publicToken } = await physical({ expiryDate: '2031-05' })
      const cancelAs = (notReceived: string, headers = {}) =>
        service.call('DELETE', `/cards/${publicToken}/renewal?notReceived=${notReceived}`, {
          headers,
        })
      const deliver = (act: string) =>
        service.call('POST', `/sandbox/plastics/${publicToken}/1/${act}`)
      await renew(publicToken)
      assert.equal((await deliver('ship')).status, 204)
      for (const answer of [await cancel(publicToken), await cancelAs('false')]) {
        assert.deepEqual([answer.status, answer.json.code], [409, 'renewal_produced'])
      }
      assert.equal((await cancelAs('yes')).status, 422)
      const headers = { 'idempotency-key': 'not-received' }
      assert.equal((await cancelAs('true', headers)).status, 204)
      assert.equal((await cancelAs('true', headers)).headers['idempotency-replayed'], 'true')
      assert.equal((await cancelAs('false', headers)).json.code, 'idempotency_key_reused')
      const late = await deliver('deliver')
      assert.deepEqual([late.status, late.json.code], [409, 'delivery_conflict'])
      assert.equal((await renew(publicToken)).status, 204)
      assert.deepEqual(
        (await plastics(publicToken)).map(({ deliveryStatus, plasticNumber, state }) => [
          plasticNumber,
          state,
          deliveryStatus,
        ]),
        [
          [0, 'Current', 'Ordered'],
          [1, 'Cancelled', 'Cancelled'],
          [2, 'Waiting', 'Ordered'],
        ],
      )
    })

    test('the refusal to cancel the returned plastic of a converted card says what to order', async () => {
      const { publicToken } = await service.createCard()
      const body = { cardType: 'Physical' }
      const converted = await service.call('PUT', `/cards/${publicToken}/card-type`, { body })
      assert.equal(converted.status, 200)
      const returned = await service.call('POST', `/sandbox/plastics/${publicToken}/1/return`)
      assert.equal(returned.status, 204)
      const refused = await cancel(publicToken)
      assertRefused(refused, 'nothing_to_migrate')
      assert.equal(
        refused.json.detail,
        'Plastic 1 was returned. Order another: RenewWithSameExpiry.',
      )
    })

    test('a repeat under the same key renews once', async () => {
      const { publicToken } = await physical({ expiryDate: '2031-05' })
      const headers = { 'idempotency-key': 'renew-once' }
      const path = `/cards/${publicToken}/renew`
      const first = await service.call('POST', path, { headers })
      const second = await service.call('POST', path, { headers })
      assert.deepEqual([first.status, second.status], [204, 204])
      assert.equal(second.headers['idempotency-replayed'], 'true')
      const cancelled = { headers: { 'idempotency-key': 'cancel-once' } }
      for (const replayed of [undefined, 'true']) {
        const answer = await service.call('DELETE', `/cards/${publicToken}/renewal`, cancelled)
        assert.deepEqual([answer.status, answer.headers['idempotency-replayed']], [204, replayed])
      }
      assert.deepEqual(await states(publicToken), ['Current', 'Cancelled'])
    })

    test('the texts for the bureau are stored sealed, and are in no event', async () => {
      const { publicToken } = await physical({ expiryDate: '2031-05' })
      await renew(publicToken, { freetext1: 'By courier to the porter' })
      const [row] = await sql<{ texts: Uint8Array }>(
        service.database,
        'select free_texts as texts from plastic where public_token = $1 and plastic_number = 1',
        [publicToken],
      )
      assert.ok(row?.texts)
      assert.ok(!Buffer.from(row.texts).includes('courier'))
      assert.ok(!JSON.stringify(await events(publicToken)).includes('courier'))
    })

    test('another client’s card is not found', async () => {
      const { publicToken } = await physical({ expiryDate: '2031-05' })
      const as = 'otherClient'
      for (const answer of [
        await service.call('POST', `/cards/${publicToken}/renew`, { as }),
        await service.call('DELETE', `/cards/${publicToken}/renewal`, { as }),
        await service.call('PATCH', `/cards/${publicToken}/card-type`, {
          as,
          body: { cardType: 'Physical' },
        }),
      ]) {
        assertRefused(answer, 'card_not_found', 404)
      }
    })

    // The clock moves from here on.
    test('54 begins only when no ordered plastic reaches further', async () => {
      const ordered = await physical({ expiryDate: '2031-05' })
      const cancelled = await physical({ expiryDate: '2031-05' })
      for (const { publicToken } of [ordered, cancelled]) await renew(publicToken)
      await moveTo('2031-06-15T00:00:00Z')
      assert.equal((await read(ordered.publicToken)).cardStatusCode, '00')
      assert.equal((await cancel(cancelled.publicToken)).status, 204)
      assert.equal((await read(cancelled.publicToken)).cardStatusCode, '54')
      assert.equal((await renew(ordered.publicToken, { renewStep: 'Migrate' })).status, 204)
      assert.equal((await read(ordered.publicToken)).cardStatusCode, '00')
    })

    const expiries = [
      { expiryDate: '2031-07', status: '00', isSwept: true, now: '2031-08-01T00:00:00Z' },
      { expiryDate: '2031-08', status: '62', isSwept: true, now: '2031-09-01T00:00:00Z' },
      { expiryDate: '2031-09', status: '00', isSwept: false, now: '2031-10-01T00:00:00Z' },
      { expiryDate: '2031-10', status: '62', isSwept: false, now: '2031-11-01T00:00:00Z' },
    ]
    for (const { expiryDate, isSwept, now, status } of expiries) {
      const sweeping = isSwept ? 'after' : 'before'
      test(`an expired card in ${status} gets that back by a renewal ${sweeping} a sweep`, async () => {
        const { publicToken } = await physical({ expiryDate })
        if (status !== '00') await setStatus(publicToken, status)
        await moveTo(now)
        if (isSwept) await sweep(service.issuing)
        assertRefused(await renew(publicToken, { renewStep: 'RenewWithSameExpiry' }), 'card_closed')
        assert.equal((await renew(publicToken)).status, 204)
        assert.equal((await read(publicToken)).cardStatusCode, '54')
        assert.equal(await pay(publicToken), '54')
        assert.equal((await renew(publicToken, { renewStep: 'Migrate' })).status, 204)
        assert.equal((await read(publicToken)).cardStatusCode, status)
        const told = (await events(publicToken)).map((event) => [
          event.type,
          event.to ?? event.cardStatusCode,
        ])
        assert.deepEqual(
          told
            .filter(([type]) => type?.startsWith('card.') && type !== 'card.renewal_due')
            .slice(status === '00' ? 1 : 2),
          [
            ['card.status_changed', '54'],
            ['card.renewal_ordered', undefined],
            ['card.renewed', status],
            ['card.status_changed', status],
            // No batch took the former plastic.
            ['card.delivery_changed', undefined],
          ],
        )
      })
    }

    test('an expired card is renewed within the grace period of its product only', async () => {
      const [late, early] = [
        await physical({ expiryDate: '2031-11' }),
        await physical({ expiryDate: '2031-12' }),
      ]
      await moveTo('2032-03-15T00:00:00Z')
      const refused = await renew(late.publicToken)
      assertRefused(refused, 'card_closed')
      assert.match(refused.json.detail, /2031-11-30/)
      assert.equal((await renew(early.publicToken, { activateNow: true })).status, 204)
      const { cardStatusCode, expiryDate } = await read(early.publicToken)
      assert.deepEqual([cardStatusCode, expiryDate], ['00', '2036-03-31'])
    })

    test('a returned plastic gives way to another, and the card works on meanwhile', async () => {
      const { publicToken } = await physical({ expiryDate: '2032-05' })
      assert.equal((await renew(publicToken)).status, 204)
      await produce(publicToken, 'Returned')
      // The first plastic expired longer ago than the months of grace.
      await moveTo('2032-09-15T00:00:00Z')
      const refused = await renew(publicToken, { renewStep: 'Migrate' })
      assertRefused(refused, 'nothing_to_migrate')
      assert.match(refused.json.detail, /Order another/)
      assertRefused(await cancel(publicToken), 'renewal_in_progress')
      assert.equal((await renew(publicToken)).status, 204)
      assert.equal((await read(publicToken)).cardStatusCode, '00')
      assert.deepEqual(await states(publicToken), ['Current', 'Cancelled', 'Waiting'])
      assert.equal((await renew(publicToken, { renewStep: 'Migrate' })).status, 204)
      assert.equal(await pay(publicToken), '00')
    })

    test('a plastic that was lost is not cancelled if the card expired too long ago without it', async () => {
      await moveTo('2033-05-15T00:00:00Z')
      const { publicToken } = await physical({ expiryDate: '2033-05' })
      assert.equal((await renew(publicToken)).status, 204)
      await produce(publicToken, 'Shipped')
      await moveTo('2033-09-15T00:00:00Z')
      const path = `/cards/${publicToken}/renewal?notReceived=true`
      const refused = await service.call('DELETE', path)
      assertRefused(refused, 'renewal_in_progress')
      assert.match(refused.json.detail, /^The card expired after 2033-05-31 but for plastic 1,/)
      assert.match(refused.json.detail, /If it was lost, replace the card\.$/)
      assert.deepEqual(await states(publicToken), ['Current', 'Waiting'])
      assertRefused(await renew(publicToken), 'renewal_in_progress')
      const body = { reason: 'Lost' }
      const replaced = await service.call('POST', `/cards/${publicToken}/replace`, { body })
      assert.equal(replaced.status, 200, replaced.text)
      assert.equal(replaced.json.replacementFor, publicToken)
      assert.deepEqual(await states(publicToken), ['Current', 'Cancelled'])
    })

    test('the plastic of a converted card that expired is not activated: the next one is', async () => {
      const { publicToken } = await service.createCard({ expiryDate: '2033-11' })
      assert.equal((await convert(publicToken)).status, 200)
      assert.equal((await renew(publicToken)).status, 204)
      await moveTo('2033-12-02T00:00:00Z')
      const body = { cardStatusCode: '00' }
      const refused = await service.call('PUT', `/cards/${publicToken}/status`, { body })
      assertRefused(refused, 'nothing_to_migrate')
      assert.equal(
        refused.json.detail,
        'Plastic 1 expired after 2033-11-30. Plastic 2 waits: Migrate makes it current.',
      )
      const path = `//cards/${publicToken}/possible-acts`
      const { json } = await service.call('GET', path, { as: 'admin', listener: 'private' })
      assert.deepEqual(
        [json.activate.possible, json.activate.detail, json.migrate.plasticNumber],
        [false, refused.json.detail, 2],
      )
      assert.equal((await renew(publicToken, { renewStep: 'Migrate' })).status, 204)
      assert.equal(await pay(publicToken), '00')
    })
  })
}
