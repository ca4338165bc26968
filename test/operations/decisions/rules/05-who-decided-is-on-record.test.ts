import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { before, test } from 'node:test'
import { enterAll, listEntries } from '../../../support/audit.ts'
import type { DecisionBehaviour } from '../../../support/decision-endpoint.ts'
import { issueCard } from '../../../support/network.ts'
import { openTestService, sql, type TestService } from '../../../support/service.ts'
import { onEachEngine } from '../../authorizations/engines.ts'
import {
  buy,
  type Deciding,
  letClientDecide,
  outcomesOf,
  purchaseOf,
  readNewest,
} from '../deciding.ts'

const answerBytes = '{"decision":"decline","reason":"insufficient_funds","note":"kept as it is"}'

interface Case {
  readonly behaviour: DecisionBehaviour
  readonly settings?: object
  readonly decidedBy: string
  readonly responseCode: string
  readonly reason?: string
  readonly statusCode: number | null
  readonly error: string | null
  readonly hasAnswer: boolean
}

const rule = 'request.amounts.billing.amount < 500'
/** A purchase has no cashback. */
const failingRule = 'request.amounts.cashback.amount < 500'

const cases: Readonly<Record<string, Case>> = {
  'an endpoint that declines': {
    behaviour: (_received, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(answerBytes)
      return undefined
    },
    decidedBy: 'endpoint',
    responseCode: '51',
    reason: 'insufficient_funds',
    statusCode: 200,
    error: null,
    hasAnswer: true,
  },
  'an endpoint that approves': {
    behaviour: () => ({ decision: 'approve' }),
    decidedBy: 'endpoint',
    responseCode: '00',
    statusCode: 200,
    error: null,
    hasAnswer: true,
  },
  'a fallback after a time-out': {
    behaviour: () => undefined,
    settings: { timeoutMs: 300 },
    decidedBy: 'fallback:timeout',
    responseCode: '91',
    reason: 'decision_unavailable',
    statusCode: null,
    error: null,
    hasAnswer: false,
  },
  'a fallback after an error': {
    behaviour: () => 500,
    decidedBy: 'fallback:error',
    responseCode: '91',
    reason: 'decision_unavailable',
    statusCode: 500,
    error: 'bad_status',
    hasAnswer: true,
  },
  'a rule': {
    behaviour: () => 500,
    settings: { fallback: { onError: 'rule', rule } },
    decidedBy: 'rule:error',
    responseCode: '05',
    reason: 'do_not_honor',
    statusCode: 500,
    error: 'bad_status',
    hasAnswer: true,
  },
  'a rule that fails': {
    behaviour: () => 500,
    settings: { fallback: { onError: 'rule', rule: failingRule } },
    decidedBy: 'fallback:error',
    responseCode: '91',
    reason: 'decision_unavailable',
    statusCode: 500,
    error: 'bad_status',
    hasAnswer: true,
  },
  'a fallback that approves': {
    behaviour: () => 500,
    settings: { fallback: { onError: 'approve' } },
    decidedBy: 'fallback:error',
    responseCode: '00',
    statusCode: 500,
    error: 'bad_status',
    hasAnswer: true,
  },
}

const sha256 = (bytes: Uint8Array): string => hash('sha256', bytes, 'hex')

onEachEngine((engine) => {
  let service: TestService
  before(async () => {
    service = await engine.openOne()
  })

  for (const [title, expected] of Object.entries(cases)) {
    test(`${title} is on record wherever the authorization is read`, async () => {
      const deciding: Deciding = await letClientDecide(service, expected.settings)
      const card = await issueCard(service)
      let answered = new Uint8Array()
      deciding.answerBy(async (received, response) => {
        const write = response.end.bind(response)
        response.end = ((body?: string) => {
          answered = Buffer.from(body ?? '')
          return body === undefined ? write() : write(body)
        }) as typeof response.end
        return expected.behaviour(received, response)
      })
      const { json } = await buy(service, card, purchaseOf(1_000))
      assert.equal(json.responseCode, expected.responseCode)
      const { publicToken } = card
      const [request] = deciding.asked
      assert.ok(request)
      const { decisionId } = request.body

      const newest = await readNewest(service, card)
      const { authorizationId } = newest
      const operatorPath = `//cards/${publicToken}/authorizations/${authorizationId}`
      const asOperator = { as: 'admin', listener: 'private' } as const
      const reads = [
        newest,
        (await service.call('GET', `/authorizations/${authorizationId}`)).json,
        (await service.call('GET', operatorPath, asOperator)).json,
      ]
      for (const { checks } of reads) {
        const check = checks.at(-1)
        assert.equal(check.check, 'decision')
        assert.equal(check.decidedBy, expected.decidedBy)
        assert.equal(check.reason, expected.reason)
      }

      const [outcome] = await outcomesOf(service, card)
      const { decidedBy, decision, decisionId: told } = outcome?.details ?? {}
      assert.deepEqual([told, decidedBy], [decisionId, expected.decidedBy])
      assert.equal(decision.statusCode ?? null, expected.statusCode)
      assert.equal(decision.error ?? null, expected.error)
      assert.equal(decision.requestHash, sha256(request.bytes))
      assert.equal(decision.answerHash, expected.hasAnswer ? sha256(answered) : undefined)
      assert.ok(decision.durationMs >= 0 && decision.durationMs < 60_000)

      const [row] = await sql<Record<string, unknown>>(
        service.database,
        `select decided_by as "decidedBy", response_code as "responseCode", error,
           status_code as "statusCode", duration_ms as "durationMs",
           encode(request_hash, 'hex') as "requestHash", encode(answer_hash, 'hex') as "answerHash"
         from decision where decision_id = $1`,
        [decisionId],
      )
      assert.deepEqual(row, {
        decidedBy: expected.decidedBy,
        responseCode: expected.responseCode,
        error: expected.error,
        statusCode: expected.statusCode,
        durationMs: decision.durationMs,
        requestHash: decision.requestHash,
        answerHash: decision.answerHash ?? null,
      })

      await enterAll(service.database)
      const entries = (await listEntries(service.database)).map(({ text }) => JSON.parse(text))
      const entry = entries.find(({ details }) => details?.decisionId === decisionId)
      assert.deepEqual(entry.details.decision, decision)
      assert.equal(entry.details.decidedBy, expected.decidedBy)
    })
  }
})

test('a rule that fails is counted, and the log names the place in it', async () => {
  const lines: string[] = []
  const logging = await openTestService({ onLogLine: (line: string) => void lines.push(line) })
  const fallback = { onError: 'rule', rule: failingRule }
  const deciding = await letClientDecide(logging, { fallback })
  deciding.answerBy(() => 500)
  await buy(logging, await issueCard(logging), purchaseOf(1_000))
  const { text } = await logging.call('GET', '//metrics', { listener: 'private', token: null })
  assert.ok(text.includes('\npinfold_decision_rule_failures_total 1\n'))
  const line = lines.find((each) => each.includes('the rule of a fallback failed'))
  const { clientId, productId, reason, version } = JSON.parse(line ?? '')
  assert.deepEqual([clientId, productId, version], ['demo-client', null, 1])
  assert.match(reason, /^No such key: cashback, at line 1, column \d+$/)
})
