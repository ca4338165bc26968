import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { PublicToken } from '../../../../src/domain/identifiers.ts'
import {
  recordEndpointState,
  type SeenChange,
} from '../../../../src/storage/decisions/endpoint-state.ts'
import { hang } from '../../../support/decision-endpoint.ts'
import { issueCard } from '../../../support/network.ts'
import { sql, type TestService } from '../../../support/service.ts'
import { until } from '../../../support/until.ts'
import { onEachEngine } from '../../authorizations/engines.ts'
import { buy, type Deciding, letClientDecide, purchaseOf } from '../deciding.ts'
import { someEndpoint } from '../requests.ts'

onEachEngine((engine) => {
  let services: readonly [TestService, TestService]
  let deciding: Deciding
  before(async () => {
    const opened = await engine.open()
    services = opened.services
    deciding = await letClientDecide(services[0], { timeoutMs: 1_000 })
  })

  const listChanges = async () =>
    (
      await sql<{ type: string; details: string; publicToken: string }>(
        services[0].database,
        `select type, details, public_token as "publicToken" from event
         where type like 'decision_endpoint.%' order by occurred_at`,
      )
    ).map(({ details, ...event }) => ({ ...event, details: JSON.parse(details) }))

  test('two processes whose requests are not answered report it once, and its end once', async () => {
    const cards = await Promise.all(Array.from({ length: 4 }, () => issueCard(services[0])))
    const buyOne = async (at: number) => {
      const card = cards[at % cards.length]
      assert.ok(card)
      return (await buy(services[at % 2] ?? services[0], card, purchaseOf(100))).json.responseCode
    }
    assert.equal(await buyOne(0), '00')
    assert.deepEqual(await listChanges(), [], 'an endpoint that answers has not recovered')

    deciding.answerBy(hang)
    for (let turn = 0; turn < 5; turn += 1) {
      const codes = await Promise.all(Array.from({ length: 12 }, (_, at) => buyOne(at)))
      assert.ok(codes.every((code) => code === '91'))
    }
    await until(async () => (await listChanges()).length > 0)
    const asked = deciding.asked.length
    assert.equal(await buyOne(0), '91')
    assert.equal(await buyOne(1), '91')
    assert.equal(deciding.asked.length, asked, 'no request is sent')
    const [degraded, ...more] = await listChanges()
    assert.deepEqual(more, [])
    assert.equal(degraded?.type, 'decision_endpoint.degraded')
    assert.deepEqual(degraded?.details, { version: 1, unanswered: 20 })
    assert.ok(cards.some(({ publicToken }) => publicToken === degraded?.publicToken))

    deciding.answerBy(() => ({ decision: 'approve' }))
    await until(async () => (await buyOne(0)) === '00')
    await until(async () => (await buyOne(1)) === '00')
    await until(async () => (await listChanges()).length > 1)
    const [, recovered, ...rest] = await listChanges()
    assert.deepEqual(rest, [])
    assert.equal(recovered?.type, 'decision_endpoint.recovered')
    assert.equal(recovered?.details.version, 1)
    assert.ok(recovered?.details.degradedSeconds >= 4)
    const [state] = await sql<{ since: Date | null }>(
      services[0].database,
      'select degraded_since as since from decision_endpoint_state',
    )
    assert.equal(state?.since, null)
  })

  const recordAs = (publicToken: PublicToken) => (version: number, change: SeenChange) => {
    const [{ database }] = services
    const endpoint = someEndpoint({ clientId: 'demo-client', version })
    const unanswered = change === 'degraded' ? 20 : null
    return recordEndpointState(database, endpoint, publicToken, change, unanswered)
  }
  const changesOf = async (publicToken: PublicToken) =>
    (await listChanges())
      .filter((change) => change.publicToken === publicToken)
      .map(({ details, type }) => [type, details.version])

  test('the answer of another version does not end the report of a silent one', async () => {
    const { publicToken } = await issueCard(services[0])
    const record = recordAs(publicToken)
    assert.equal(await record(1, 'degraded'), true)
    assert.equal(await record(2, 'answering'), false)
    assert.equal(await record(1, 'answering'), true)
    assert.deepEqual(await changesOf(publicToken), [
      ['decision_endpoint.degraded', 1],
      ['decision_endpoint.recovered', 1],
    ])
  })

  test('the report of a lost process counts for a minute, if others get answers', async () => {
    const [{ database }] = services
    const { publicToken } = await issueCard(services[0])
    const record = recordAs(publicToken)
    const passMinute = () =>
      sql(
        database,
        `update decision_endpoint_state set degraded_seen_at = $1::timestamptz
         where degraded_seen_at is not null`,
        [new Date(Date.now() - 61_000).toISOString()],
      )
    assert.equal(await record(1, 'still-degraded'), false, 'nothing is degraded')
    await record(1, 'degraded')
    assert.equal(await record(1, 'still-answering'), false)
    await passMinute()
    assert.equal(await record(1, 'still-degraded'), false)
    assert.equal(await record(1, 'still-answering'), false, 'a living process has confirmed it')
    await passMinute()
    assert.equal(await record(2, 'still-answering'), false)
    assert.equal(await record(1, 'still-answering'), true)
    assert.deepEqual(await changesOf(publicToken), [
      ['decision_endpoint.degraded', 1],
      ['decision_endpoint.recovered', 1],
    ])
  })
})
