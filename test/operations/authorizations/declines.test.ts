import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { declineRules } from '../../../src/domain/decline-reason.ts'
import { ask, issueCard, pinTry } from '../../support/network.ts'
import type { TestService } from '../../support/service.ts'
import { checkedReasons, listCauses } from './declined.ts'
import { onEachEngine } from './engines.ts'

onEachEngine((engine) => {
  let service: TestService
  let causes: ReturnType<typeof listCauses>
  before(async () => {
    service = await engine.openOne()
    causes = listCauses(service)
  })

  const pick = (members: object, names: readonly string[]) =>
    Object.fromEntries(Object.entries(members).filter(([name]) => names.includes(name)))

  const read = async (path: string, options: { as?: 'otherClient' } = {}) =>
    service.call('GET', path, options)

  for (const reason of checkedReasons) {
    test(`a client reads that ${reason} declined its card, and what follows`, async () => {
      const card = await issueCard(service, { activateNow: reason !== 'card_not_activated' })
      const cause = causes[reason]
      await cause.befall?.(card)
      const request = await cause.request(card)
      const answer = await ask(service, { ...request, reference: 'WHY-1' })
      const [newest] = (await read(`/cards/${card.publicToken}/authorizations`)).json
      const { advice, declinedBy, responseCode, retry } = declineRules[reason]
      assert.equal(answer.json.responseCode, responseCode)
      const { authorizationId, checks, decidedAt, requestedAt, control, ...rest } = newest
      assert.equal(control !== undefined, declinedBy === 'control')
      const { amount, currency, merchant } = request as Record<string, unknown>
      assert.deepEqual(rest, {
        ...(amount !== undefined && { amount, currency }),
        ...(merchant !== undefined && { merchant }),
        publicToken: card.publicToken,
        approved: false,
        responseCode,
        declineReason: reason,
        declinedBy: declinedBy === 'control' ? 'card_control' : declinedBy,
        advice,
        retry,
        entryMode: 'entryMode' in request ? request.entryMode : 'chip',
        reference: 'WHY-1',
        transactionType: 'transactionType' in request ? request.transactionType : 'purchase',
        ...pick(request, ['amount', 'currency', 'networkTransactionId']),
      })
      assert.ok(requestedAt <= decidedAt)
      for (const instant of [requestedAt, decidedAt]) {
        assert.match(instant, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
      }
      assert.equal(checks[0].check, 'card')
      const one = await read(`/authorizations/${authorizationId}`)
      assert.deepEqual(one.json, newest)
    })
  }

  test('an approval has its checks, and nothing of a decline', async () => {
    const card = await issueCard(service)
    await ask(service, { ...pinTry(service, card), cvv2: card.cvv2 })
    const { json, text } = await read(`/cards/${card.publicToken}/authorizations`)
    assert.equal(json.length, 1)
    assert.equal(json[0].approved, true)
    assert.deepEqual(
      json[0].checks.map(
        ({ check, result }: { check: string; result: string }) => `${check} ${result}`,
      ),
      [
        'card passed',
        'status passed',
        'expiry not_given',
        'pin_block passed',
        'pin passed',
        'cvv2 passed',
      ],
    )
    assert.doesNotMatch(text, /declineReason|declinedBy|advice|retry|afterMs|networkId/)
    for (const secret of [card.pan, `"${card.pin}"`, `"${card.cvv2}"`]) {
      assert.ok(!text.includes(secret))
    }
  })

  test('authorizations of all cards are listed newest first, each once, page after page', async () => {
    const cards = [await issueCard(service), await issueCard(service)]
    for (let round = 0; round < 5; round += 1) {
      for (const card of cards)
        await ask(service, { publicToken: card.publicToken, reference: `P-${round}` })
    }
    const all = (await read('/authorizations')).json
    assert.deepEqual(
      all.slice(0, 10).map(({ reference }: { reference: string }) => reference),
      [4, 4, 3, 3, 2, 2, 1, 1, 0, 0].map((round) => `P-${round}`),
    )
    const paged: object[] = []
    for (let next: string | undefined = '/authorizations?limit=3'; next !== undefined; ) {
      const { headers, json } = await read(next)
      paged.push(...json)
      const target: string | undefined = /<(\/[^>]+)>/.exec(String(headers.link))?.[1]
      next = target && `/${target}`
    }
    assert.deepEqual(paged, all)
  })

  test('another client’s authorizations answer as those that do not exist', async () => {
    const card = await issueCard(service)
    await ask(service, { publicToken: card.publicToken })
    const [{ authorizationId }] = (await read(`/cards/${card.publicToken}/authorizations`)).json
    const other = { as: 'otherClient' } as const
    const refusals = await Promise.all([
      read(`/authorizations/${authorizationId}`, other),
      read(`/authorizations/${randomUUID()}`),
      read('/authorizations/1'),
      read(`/cards/${card.publicToken}/authorizations`, other),
      read('/cards/9999999999/authorizations'),
    ])
    assert.deepEqual(
      refusals.map(({ json, status }) => [status, json.code]),
      [
        [404, 'not_found'],
        [404, 'not_found'],
        [404, 'not_found'],
        [404, 'card_not_found'],
        [404, 'card_not_found'],
      ],
    )
    for (const { json } of refusals.slice(0, 3)) {
      assert.equal(json.detail, 'No authorization has this authorizationId.')
    }
    const listed = await read('/authorizations', other)
    assert.ok(!listed.text.includes(authorizationId))
  })

  test('a request about an unknown card is in no client’s list', async () => {
    await ask(service, { publicToken: '9999999999', reference: 'NOBODY' })
    assert.doesNotMatch((await read('/authorizations')).text, /NOBODY/)
  })
})
