import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { sealFreeTexts } from '../../../src/operations/cards/free-texts.ts'
import { databaseEngines } from '../../support/engines.ts'
import { type CallOptions, openTestService, sql, type TestService } from '../../support/service.ts'

for (const { name, open, skip } of databaseEngines) {
  suite(`batches of the bureau, on ${name}`, { skip }, () => {
    let service: TestService
    before(async () => {
      service = await openTestService({ database: await open(), env: { RATE_LIMIT: 'off' } })
    })

    const asBureau = (method: string, path: string, options: CallOptions = {}) =>
      service.call(method, `//bureau${path}`, { as: 'admin', listener: 'private', ...options })

    const take = async (limit = 100, headers: Record<string, string> = {}) => {
      const { json, status } = await asBureau('POST', '/batches', { body: { limit }, headers })
      return status === 204 ? null : (json as { batchId: string; plasticCount: number })
    }

    const report = (publicToken: string, deliveryStatus: string, plasticNumber = 0) =>
      asBureau('POST', `/plastics/${publicToken}/${plasticNumber}/status`, {
        body: { deliveryStatus },
      })

    const listPlastics = async (batchId: string, query = '') =>
      (await asBureau('GET', `/batches/${batchId}/plastics${query}`)).json

    const deliveryOf = async (publicToken: string) => {
      const [row] = await sql<{ status: string }>(
        service.database,
        'select delivery_status as status from plastic where public_token = $1',
        [publicToken],
      )
      return row?.status
    }

    const listDeliveries = async (publicToken: string) =>
      (
        await sql<{ details: string }>(
          service.database,
          `select details from event where public_token = $1 and type = 'card.delivery_changed'
           order by sequence`,
          [publicToken],
        )
      ).map(({ details }) => JSON.parse(details))

    const createCard = async (members: object = {}) =>
      (await service.createCard({ cardType: 'Physical', ...members })).publicToken

    /** A card whose plastic the bureau has. */
    const createTaken = async () => {
      const card = await createCard()
      await takeAll()
      return card
    }

    /** Leaves nothing ordered for the next test. */
    const takeAll = async () => {
      while ((await take(500)) !== null);
    }

    test('a batch holds each ordered plastic once, with what is printed and where it is sent', async () => {
      await takeAll()
      const fulfilment = { addressLine1: 'Branch 7', postCode: '28014', country: 'ESP' }
      const card = await createCard({ fulfilment, nameOnCard: 'ANA L', designId: 'blue' })
      await service.createCard({ cardType: 'Virtual' })
      const batch = await take()
      assert.equal(batch?.plasticCount, 1)
      const [plastic, ...others] = await listPlastics(batch?.batchId ?? '')
      assert.deepEqual(others, [])
      assert.equal(plastic.publicToken, card)
      assert.equal(plastic.plasticNumber, 0)
      assert.equal(plastic.reason, 'Issue')
      assert.equal(plastic.embossName, 'ANA L')
      assert.equal(plastic.designId, 'blue')
      assert.deepEqual(plastic.address, fulfilment)
      assert.equal(plastic.deliveryStatus, 'Ordered')
      assert.match(plastic.maskedPan, /^[0-9]{6}\*{6}[0-9]{4}$/)
      assert.equal(await take(), null)
    })

    test('the plastic of a converted card is sent where the conversion says, which is an event', async () => {
      await takeAll()
      const { publicToken } = await service.createCard({ cardType: 'Virtual' })
      const fulfilment = { addressLine1: 'Branch 9', postCode: '28014', country: 'ESP' }
      const convert = (body: object) =>
        service.call('PUT', `/cards/${publicToken}/card-type`, { body })
      const body = { cardType: 'Physical', fulfilment }
      const refused = await convert({ ...body, fulfilment: { ...fulfilment, postCode: '' } })
      assert.deepEqual([refused.status, refused.json.code], [422, 'validation_failed'])
      const converted = await convert(body)
      assert.equal(converted.status, 200, converted.text)
      const events = await sql<{ type: string; details: string }>(
        service.database,
        'select type, details from event where public_token = $1 order by sequence',
        [publicToken],
      )
      assert.deepEqual(
        events.map(({ type }) => type),
        ['card.created', 'card.changed', 'card.converted'],
      )
      assert.deepEqual(JSON.parse(events[1]?.details ?? ''), { members: ['fulfilment'] })
      const [plastic, ...others] = await listPlastics((await take())?.batchId ?? '')
      assert.deepEqual(others, [])
      assert.deepEqual(
        [plastic.publicToken, plastic.plasticNumber, plastic.reason],
        [publicToken, 1, 'Conversion'],
      )
      assert.deepEqual(plastic.address, fulfilment)
    })

    test('the texts of the client for a plastic reach the bureau with it', async () => {
      await takeAll()
      const card = await service.createCard({ cardType: 'Physical' })
      const texts = { freetext1: 'Blue box', freetext2: 'Branch 7' }
      const sealed = await sealFreeTexts(service.issuing.hsm, card.publicToken, 0, texts)
      await sql(service.database, 'update plastic set free_texts = $2 where public_token = $1', [
        card.publicToken,
        sealed,
      ])
      const [listed] = await listPlastics((await take())?.batchId ?? '')
      assert.deepEqual([listed.freetext1, listed.freetext2], ['Blue box', 'Branch 7'])
    })

    test('the bureau reads no names, addresses and texts of a plastic that it is done with', async () => {
      await takeAll()
      const cards = []
      for (let count = 0; count < 4; count += 1) cards.push(await createCard())
      const [delivered = '', returned = '', cancelled = '', shipped = ''] = cards
      const { batchId = '' } = (await take()) ?? {}
      const members = async () => {
        const listed: Record<string, unknown>[] = await listPlastics(batchId)
        return Object.fromEntries(
          listed.map((plastic) => [
            String(plastic.publicToken),
            ['embossName', 'cardHolder', 'address'].filter((member) => member in plastic).length,
          ]),
        )
      }
      assert.deepEqual(Object.values(await members()), [3, 3, 3, 3])
      for (const status of ['Produced', 'Shipped']) await report(shipped, status)
      for (const status of ['Produced', 'Shipped', 'Delivered']) await report(delivered, status)
      await report(returned, 'Returned')
      const closing = { body: { cardStatusCode: '46' } }
      await service.call('PUT', `/cards/${cancelled}/status`, closing)
      assert.deepEqual(await members(), {
        [delivered]: 0,
        [returned]: 0,
        [cancelled]: 0,
        [shipped]: 3,
      })
      const acts = await sql<{ details: string }>(
        service.database,
        "select details from audit_act where act = 'plastics read' order by number",
      )
      const counts = acts
        .map(({ details }) => JSON.parse(details))
        .filter((details) => details.batchId === batchId)
        .map(({ plasticCount }) => plasticCount)
      assert.deepEqual(counts, [4, 1])
    })

    test('two batches at once share the plastics, and a repeated request is one batch', async () => {
      await takeAll()
      const cards = await Promise.all(Array.from({ length: 12 }, () => createCard()))
      const key = { 'idempotency-key': `batch-${name}` }
      const taken = await Promise.all([take(5, key), take(5), take(5)])
      const again = await take(5, key)
      assert.deepEqual(again, taken[0])
      await takeAll()
      const rows = await sql<{ token: string; batch: string }>(
        service.database,
        `select public_token as token, batch_id::text as batch from plastic
         where public_token = any($1)`,
        [cards],
      )
      assert.equal(rows.length, 12)
      assert.ok(rows.every(({ batch }) => batch !== null))
      for (const batch of taken) {
        const held = rows.filter((row) => row.batch === batch?.batchId)
        assert.equal(held.length, batch?.plasticCount ?? 0)
      }
    })

    test('the plastics of a batch are listed page by page, none missing and none twice', async () => {
      await takeAll()
      const cards = await Promise.all(Array.from({ length: 5 }, () => createCard()))
      const batch = await take()
      const seen: string[] = []
      let path: string | undefined = `/batches/${batch?.batchId}/plastics?limit=2`
      while (path !== undefined) {
        const page = await asBureau('GET', path)
        seen.push(...page.json.map(({ publicToken }: { publicToken: string }) => publicToken))
        path = /<\/bureau([^>]+)>/.exec(String(page.headers.link ?? ''))?.[1]
      }
      assert.deepEqual(seen, [...cards].sort())
    })

    test('a batch is acknowledged once, and only by the client that took it', async () => {
      await takeAll()
      await createCard()
      const path = `/batches/${(await take())?.batchId}`
      assert.equal((await asBureau('GET', path)).json.acknowledgedAt, null)
      assert.equal((await asBureau('PUT', `${path}/acknowledgement`)).status, 204)
      const first = (await asBureau('GET', path)).json.acknowledgedAt
      assert.equal((await asBureau('PUT', `${path}/acknowledgement`)).status, 204)
      assert.equal((await asBureau('GET', path)).json.acknowledgedAt, first)
      await sql(service.database, "update bureau_batch set client_id = 'another-bureau'")
      for (const [method, part] of [
        ['GET', ''],
        ['GET', '/plastics'],
        ['PUT', '/acknowledgement'],
      ] as const) {
        assert.equal((await asBureau(method, path + part)).status, 404, method + part)
      }
    })

    test('a batch whose answer was lost is found again among those not acknowledged', async () => {
      await takeAll()
      const taken: string[] = []
      for (let count = 0; count < 5; count += 1) {
        await createCard()
        taken.unshift((await take())?.batchId ?? '')
      }
      const [newest = '', second = ''] = taken
      assert.equal((await asBureau('PUT', `/batches/${second}/acknowledgement`)).status, 204)
      const list = async (query: string, most: number) => {
        const seen: { batchId: string; plasticCount: number }[] = []
        let path: string | undefined = `/batches?limit=2${query}`
        while (path !== undefined && seen.length < most) {
          const page = await asBureau('GET', path)
          assert.equal(page.status, 200, page.text)
          seen.push(...page.json)
          path = /<\/bureau([^>]+)>/.exec(String(page.headers.link ?? ''))?.[1]
        }
        return seen.slice(0, most)
      }
      const ids = async (query: string, most: number) =>
        (await list(query, most)).map(({ batchId }) => batchId)
      assert.deepEqual(await ids('', 5), taken)
      assert.equal((await list('', 1))[0]?.plasticCount, 1)
      assert.deepEqual(await ids('&acknowledged=false', 4), [newest, ...taken.slice(2)])
      await sql(service.database, "update bureau_batch set client_id = 'another-bureau'")
      assert.deepEqual(await ids('', 5), [])
    })

    test('a batch is taken and acknowledged at the time of the service', async () => {
      const env = { RATE_LIMIT: 'off', SANDBOX_CLOCK: '2031-03-15T10:00:00Z' }
      const later = await openTestService({ database: await open(), env })
      await later.createCard({ cardType: 'Physical' })
      const options = { as: 'admin', listener: 'private' } as const
      const path = '//bureau/batches'
      const taken = await later.call('POST', path, { ...options, body: { limit: 1 } })
      const batch = `${path}/${taken.json.batchId}`
      await later.call('PUT', `${batch}/acknowledgement`, options)
      const { acknowledgedAt, takenAt } = (await later.call('GET', batch, options)).json
      assert.match(takenAt, /^2031-03-15T10:/)
      assert.ok(takenAt <= acknowledgedAt, `${takenAt} ${acknowledgedAt}`)
    })

    test('a batch is taken without a body', async () => {
      await takeAll()
      await createCard()
      const taken = await asBureau('POST', '/batches')
      assert.deepEqual([taken.status, taken.json?.plasticCount], [201, 1], taken.text)
    })

    test('a plastic is produced, shipped and delivered, each with one event', async () => {
      const card = await createTaken()
      for (const status of ['Produced', 'Shipped', 'Shipped', 'Delivered']) {
        assert.equal((await report(card, status)).status, 204, status)
      }
      assert.deepEqual(await listDeliveries(card), [
        { plasticNumber: 0, deliveryStatus: 'Produced' },
        { plasticNumber: 0, deliveryStatus: 'Shipped' },
        { plasticNumber: 0, deliveryStatus: 'Delivered' },
      ])
    })

    test('a status out of order is refused with those that can be next, and changes nothing', async () => {
      const card = await createTaken()
      const early = await report(card, 'Shipped')
      assert.deepEqual([early.status, early.json.code], [409, 'delivery_conflict'])
      assert.match(early.json.detail, /is Ordered;.* It can report Produced or Returned\.$/)
      await report(card, 'Returned')
      const late = await report(card, 'Produced')
      assert.equal(late.json.code, 'delivery_conflict')
      assert.match(late.json.detail, /is Returned;.* It can report nothing further\.$/)
      assert.equal(await deliveryOf(card), 'Returned')
      assert.equal((await report(card, 'Produced', 1)).status, 404)
      assert.equal((await report('1000000000', 'Produced')).json.code, 'card_not_found')
    })

    test('reports of one plastic at once have one event for each status', async () => {
      const card = await createTaken()
      const answers = await Promise.all(Array.from({ length: 8 }, () => report(card, 'Produced')))
      assert.ok(answers.every(({ status }) => status === 204))
      assert.equal((await listDeliveries(card)).length, 1)
    })

    test('the order of a card that was closed is cancelled instead of made', async () => {
      await takeAll()
      const closed = await createCard()
      const open = await createCard()
      await service.call('PUT', `/cards/${closed}/status`, { body: { cardStatusCode: '83' } })
      const batch = await take(1)
      const listed = await listPlastics(batch?.batchId ?? '')
      assert.deepEqual(
        listed.map(({ publicToken }: { publicToken: string }) => publicToken),
        [open],
      )
      assert.deepEqual(await listDeliveries(closed), [
        { plasticNumber: 0, deliveryStatus: 'Cancelled' },
      ])
    })

    test('a plastic of a batch is cancelled when its card is closed, retired or renewed first', async () => {
      await takeAll()
      const act = async (path: string, body: object, method = 'POST') => {
        const answer = await service.call(method, `/cards/${path}`, { body })
        assert.ok(answer.status < 300, answer.text)
        return answer.json
      }
      const closed = await createCard()
      const stolen = await createCard()
      const [retired, renewed] = [
        await createCard({ activateNow: true }),
        await createCard({ activateNow: true }),
      ]
      const renewal = await createCard({ activateNow: true })
      const sameExpiry = { renewStep: 'RenewWithSameExpiry' }
      await act(`${renewal}/renew`, sameExpiry)
      const batch = await take()
      assert.equal(batch?.plasticCount, 6)
      await act(`${closed}/status`, { cardStatusCode: '46' }, 'PUT')
      await act(`${renewal}/status`, { cardStatusCode: '41' }, 'PUT')
      await act(`${stolen}/replace`, { reason: 'Stolen' })
      await act(`${retired}/replace`, { reason: 'Upgrade', activateNow: true })
      await act(`${renewed}/renew`, { ...sameExpiry, activateNow: true })
      const listed = await listPlastics(batch?.batchId ?? '')
      assert.deepEqual(
        listed.map(({ deliveryStatus }: { deliveryStatus: string }) => deliveryStatus),
        Array.from({ length: 6 }, () => 'Cancelled'),
      )
      for (const card of [closed, stolen, retired, renewed]) {
        assert.deepEqual(await listDeliveries(card), [
          { plasticNumber: 0, deliveryStatus: 'Cancelled' },
        ])
        const late = await report(card, 'Produced')
        assert.deepEqual([late.status, late.json.code], [409, 'delivery_conflict'])
        assert.match(late.json.detail, /is Cancelled, and is not needed/)
      }
    })

    test('a plastic that was produced keeps its delivery when its card is closed', async () => {
      const card = await createTaken()
      await report(card, 'Produced')
      await service.call('PUT', `/cards/${card}/status`, { body: { cardStatusCode: '46' } })
      assert.equal((await report(card, 'Shipped')).status, 204)
    })

    test('a plastic that another replaced before a batch took it is not made', async () => {
      await takeAll()
      const card = await createCard({ activateNow: true })
      const body = { renewStep: 'RenewWithSameExpiry', activateNow: true }
      assert.equal((await service.call('POST', `/cards/${card}/renew`, { body })).status, 204)
      const listed = await listPlastics((await take())?.batchId ?? '')
      assert.deepEqual(
        listed.map(({ plasticNumber }: { plasticNumber: number }) => plasticNumber),
        [1],
      )
      assert.deepEqual(await listDeliveries(card), [
        { plasticNumber: 0, deliveryStatus: 'Cancelled' },
      ])
    })

    test('orders of many closed cards do not hide that of an open one from small batches', async () => {
      await takeAll()
      for (let count = 0; count < 12; count += 1) {
        const closed = await createCard()
        await service.call('PUT', `/cards/${closed}/status`, { body: { cardStatusCode: '83' } })
      }
      const open = await createCard()
      const batch = await take(1)
      const listed = await listPlastics(batch?.batchId ?? '')
      assert.deepEqual(
        listed.map(({ publicToken }: { publicToken: string }) => publicToken),
        [open],
      )
    })

    test('batches at once with a small limit each find an order while there are some', async () => {
      await takeAll()
      for (let count = 0; count < 4; count += 1) await createCard()
      const batches = await Promise.all([1, 2, 3, 4].map(() => take(1)))
      assert.deepEqual(
        batches.map((batch) => batch?.plasticCount),
        [1, 1, 1, 1],
      )
    })

    test('the renewal of an expired card is made, and its former order is cancelled', async () => {
      await takeAll()
      const card = await createCard()
      await sql(
        service.database,
        `update card set status_code = '54', status_before_expiry = '02',
           start_date = current_date - 100, expiry_date = current_date - 10
         where public_token = $1`,
        [card],
      )
      await sql(
        service.database,
        `update plastic set start_date = current_date - 100, expiry_date = current_date - 10
         where public_token = $1`,
        [card],
      )
      assert.equal((await service.call('POST', `/cards/${card}/renew`, { body: {} })).status, 204)
      const [plastic, ...others] = await listPlastics((await take())?.batchId ?? '')
      assert.deepEqual([plastic?.publicToken, plastic?.plasticNumber, others], [card, 1, []])
      assert.deepEqual(await listDeliveries(card), [
        { plasticNumber: 0, deliveryStatus: 'Cancelled' },
      ])
      const migrate = { body: { renewStep: 'Migrate' } }
      assert.equal((await service.call('POST', `/cards/${card}/renew`, migrate)).status, 204)
    })

    test('only the client whose batch has a plastic reports it', async () => {
      await takeAll()
      const card = await createCard()
      const early = await report(card, 'Produced')
      assert.deepEqual([early.status, early.json.code], [404, 'not_found'])
      assert.equal(await deliveryOf(card), 'Ordered')
      const batch = await take()
      assert.equal((await report(card, 'Produced')).status, 204)
      await sql(
        service.database,
        "update bureau_batch set client_id = 'another-bureau' where batch_id = $1",
        [batch?.batchId ?? null],
      )
      assert.equal((await report(card, 'Shipped')).status, 404)
      assert.equal(await deliveryOf(card), 'Produced')
    })

    test('in a sandbox, the client delivers its own plastic, and passes what lies between', async () => {
      const card = await createCard()
      const act = (what: string, options: CallOptions = {}) =>
        service.call('POST', `/sandbox/plastics/${card}/0/${what}`, options)
      assert.equal((await act('ship', { as: 'otherClient' })).json.code, 'card_not_found')
      const headers = { 'idempotency-key': `deliver-${name}` }
      assert.equal((await act('deliver', { headers })).status, 204)
      const statuses = (await listDeliveries(card)).map(({ deliveryStatus }) => deliveryStatus)
      assert.deepEqual(statuses, ['Produced', 'Shipped', 'Delivered'])
      assert.equal((await act('return')).status, 204)
      assert.equal((await act('deliver', { headers })).headers['idempotency-replayed'], 'true')
      assert.equal((await act('ship')).json.code, 'delivery_conflict')
    })
  })
}
