import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { product } from '../../support/builders.ts'
import { type CreatedCard, newCard, type TestService } from '../../support/service.ts'
import { onEachEngine } from '../authorizations/engines.ts'

/** The history of a card: its line, and the plastics of each card of the line. */
onEachEngine((engine) => {
  let service: TestService

  before(async () => {
    service = await engine.openOne()
    await product(service.database, { productId: 2200, bin: '40000222' })
  })

  const physicalCard = (): Promise<CreatedCard> =>
    service.createCard({
      ...newCard({ cardType: 'Physical' }),
      cardProduct: 2200,
      activateNow: true,
    })

  const historyOf = async (publicToken: string, query = '') => {
    const answer = await service.call('GET', `/cards/${publicToken}/history${query}`)
    assert.equal(answer.status, 200, answer.text)
    return answer
  }

  const replace = async (publicToken: string, body: object = {}): Promise<string> => {
    const { json, status, text } = await service.call('POST', `/cards/${publicToken}/replace`, {
      body,
    })
    assert.equal(status, 200, text)
    return json.publicToken
  }

  const setStatus = (publicToken: string, cardStatusCode: string) =>
    service.call('PUT', `/cards/${publicToken}/status`, { body: { cardStatusCode } })

  const renew = (publicToken: string, renewStep: string) =>
    service.call('POST', `/cards/${publicToken}/renew`, { body: { renewStep } })

  test('a history has each plastic of a card with its state and its delivery', async () => {
    const { expiryDate, publicToken, startDate } = await physicalCard()
    const texts = { renewStep: 'RenewWithSameExpiry', freetext1: 'A secret text' }
    const renewed = await service.call('POST', `/cards/${publicToken}/renew`, { body: texts })
    assert.equal(renewed.status, 204, renewed.text)
    const ship = `/sandbox/plastics/${publicToken}/1/ship`
    assert.equal((await service.call('POST', ship)).status, 204)
    assert.equal((await renew(publicToken, 'Migrate')).status, 204)
    assert.equal((await renew(publicToken, 'RenewWithSameExpiry')).status, 204)
    assert.equal((await service.call('DELETE', `/cards/${publicToken}/renewal`)).status, 204)
    const { json, text } = await historyOf(publicToken)
    assert.equal(json.length, 1)
    const [{ cardStatusCode, plastics, reason, replacementFor, retired }] = json
    assert.deepEqual(
      [cardStatusCode, retired, reason, replacementFor],
      ['00', false, undefined, undefined],
    )
    const described = plastics.map((each: Record<string, unknown>) => [
      each.plasticNumber,
      each.reason,
      each.state,
      each.deliveryStatus,
      each.deliveryChangedAt !== undefined,
      each.endedAt !== undefined,
    ])
    assert.deepEqual(described, [
      [0, 'Issue', 'Retired', 'Cancelled', true, true],
      [1, 'Reprint', 'Current', 'Shipped', true, false],
      [2, 'Reprint', 'Cancelled', 'Cancelled', true, true],
    ])
    assert.deepEqual(
      [plastics[0].cardType, plastics[0].startDate, plastics[0].expiryDate],
      ['Physical', startDate, expiryDate],
    )
    assert.ok(!text.includes('secret'), text)
  })

  test('a history shows that the plastic of a converted card is not activated yet', async () => {
    const { publicToken } = await service.createCard()
    const body = { cardType: 'Physical' }
    const converted = await service.call('PUT', `/cards/${publicToken}/card-type`, { body })
    assert.equal(converted.status, 200, converted.text)
    const describe = async () => {
      const [{ plastics }] = (await historyOf(publicToken)).json
      return plastics.map((each: Record<string, unknown>) => [each.state, each.inactive])
    }
    assert.deepEqual(await describe(), [
      ['Retired', undefined],
      ['Current', true],
    ])
    assert.equal((await renew(publicToken, 'Migrate')).status, 204)
    assert.deepEqual(await describe(), [
      ['Retired', undefined],
      ['Current', undefined],
    ])
  })

  test('each card of a line has the whole line, newest first', async () => {
    const { publicToken } = await physicalCard()
    const unused = await replace(publicToken, { reason: 'Damaged' })
    assert.equal((await setStatus(unused, '46')).status, 204)
    const second = await replace(publicToken, { reason: 'Lost' })
    assert.equal((await setStatus(second, '00')).status, 204)
    const third = await replace(second, { reason: 'Compromised' })
    const expected = [
      [third, second, 'Compromised', '02', false, false],
      [second, publicToken, 'Lost', '62', true, true],
      [unused, publicToken, 'Damaged', '46', false, false],
      [publicToken, undefined, undefined, '41', false, false],
    ]
    for (const each of [publicToken, unused, second, third]) {
      const { json } = await historyOf(each)
      const described = json.map((card: Record<string, unknown>) => [
        card.publicToken,
        card.replacementFor,
        card.reason,
        card.cardStatusCode,
        card.retired,
        card.activatedAt !== undefined,
      ])
      assert.deepEqual(described, expected)
      assert.ok(json.every(({ plastics }: { plastics: unknown[] }) => plastics.length === 1))
    }
  })

  test('a long line is listed page by page, each card once', async () => {
    const { publicToken } = await physicalCard()
    const line: string[] = [publicToken]
    for (let generation = 1; generation < 5; generation += 1) {
      const successor = await replace(line[0] ?? '', { activateNow: true })
      line.unshift(successor)
    }
    const listed: string[] = []
    let path: string | undefined = `/cards/${publicToken}/history?limit=2`
    while (path !== undefined) {
      const { headers, json }: Awaited<ReturnType<typeof service.call>> = await service.call(
        'GET',
        path,
      )
      listed.push(...json.map((card: CreatedCard) => card.publicToken))
      const next: string | undefined = /<([^>]*)>/.exec(String(headers.link ?? ''))?.[1]
      path = next === undefined ? undefined : `/${next}`
    }
    assert.deepEqual(listed, line)
    const whole = await historyOf(publicToken, '?limit=5')
    assert.deepEqual([whole.json.length, whole.headers.link], [5, undefined])
  })

  test('a client sees the history of its own cards only', async () => {
    const { publicToken } = await physicalCard()
    const as = 'otherClient'
    const foreign = await service.call('GET', `/cards/${publicToken}/history`, { as })
    assert.deepEqual([foreign.status, foreign.json.code], [404, 'card_not_found'])
    const unknown = await service.call('GET', '/cards/0000000000/history')
    assert.equal(unknown.status, 404)
  })
})
