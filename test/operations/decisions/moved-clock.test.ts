import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { issueCard } from '../../support/network.ts'
import type { TestService } from '../../support/service.ts'
import { onEachEngine } from '../authorizations/engines.ts'
import { buy, type Deciding, letClientDecide, purchaseOf } from './deciding.ts'

const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString()

onEachEngine((engine) => {
  let service: TestService
  let deciding: Deciding
  before(async () => {
    service = await engine.openOne()
    deciding = await letClientDecide(service)
    const body = { now: inDays(40) }
    const options = { as: 'admin', listener: 'private', body } as const
    assert.equal((await service.call('POST', '//sandbox/clock', options)).status, 200)
  })

  test('the expiry of a hold is compared with the clock that was moved', async () => {
    const card = await issueCard(service)
    for (const [days, responseCode] of [
      [45, '00'],
      [5, '91'],
    ] as const) {
      deciding.answerBy(() => ({ decision: 'approve', holdExpiresAt: inDays(days) }))
      assert.equal((await buy(service, card, purchaseOf(100))).json.responseCode, responseCode)
    }
  })

  test('so is that of an answer by a call', async () => {
    const card = await issueCard(service)
    deciding.answerBy(async ({ body: { decisionId } }) => {
      const path = `/decisions/${decisionId}/answer`
      const answer = (days: number) =>
        service.call('POST', path, { body: { decision: 'approve', holdExpiresAt: inDays(days) } })
      assert.equal((await answer(5)).status, 422)
      assert.equal((await answer(45)).status, 200)
      return undefined
    })
    assert.equal((await buy(service, card, purchaseOf(100))).json.responseCode, '00')
  })
})
