import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { parseChipData } from '../../../src/domain/chip-data.ts'
import { issueChipCard } from '../../support/chip.ts'
import { openTestService, sql, type TestService } from '../../support/service.ts'
import { type Deciding, letClientDecide } from '../decisions/deciding.ts'

let service: TestService
let deciding: Deciding
before(async () => {
  service = await openTestService({ env: { RATE_LIMIT: 'off' } })
  deciding = await letClientDecide(service)
})

/** Buys with the virtual chip of a card. @returns tag 91, and what the chip made of it. */
async function buyWith(publicToken: string) {
  const body = { publicToken, chip: true, amount: 500, currency: 'EUR' }
  const { json, status, text } = await service.call('POST', '/simulator/authorizations', { body })
  assert.equal(status, 200, text)
  const parsed = parseChipData(Buffer.from(json.chip?.data ?? '', 'hex'))
  assert.ok('tags' in parsed, text)
  const answer = Buffer.from(parsed.tags.get('91') ?? [])
  const { answerVerified, approved } = json.virtualChip
  return { answer, answerVerified, approved, responseCode: json.responseCode }
}

const decisions = [
  ['approves', { decision: 'approve' }, '00', '00800000'],
  ['declines', { decision: 'decline', reason: 'insufficient_funds' }, '51', '00000000'],
] as const

for (const [profile, method] of [
  ['visa-cvn10', 1],
  ['visa-cvn18', 2],
] as const) {
  for (const [verb, decision, responseCode, cardStatusUpdate] of decisions) {
    test(`when the client ${verb}, the chip gets an answer of method ${method} that says so`, async () => {
      await sql(
        service.database,
        `update product set chip = jsonb_set(chip, '{profile}', to_jsonb($1::text))
         where product_id = 1001`,
        [profile],
      )
      const { publicToken } = await issueChipCard(service)
      deciding.answerBy(() => decision)
      const before = deciding.asked.length
      const bought = await buyWith(publicToken)
      assert.equal(deciding.asked.length, before + 1, 'the client decided')
      assert.deepEqual(
        [bought.responseCode, bought.answerVerified, bought.approved],
        [responseCode, true, responseCode === '00'],
      )
      const code = Buffer.from(responseCode, 'latin1').toString('hex')
      const end = method === 1 ? code : cardStatusUpdate
      assert.ok(bought.answer.toString('hex').endsWith(end), bought.answer.toString('hex'))
      assert.equal(bought.answer.length, method === 1 ? 10 : 8)
    })
  }
}

test('a chip is answered as a decline when its client gives no answer', async () => {
  const { publicToken } = await issueChipCard(service)
  deciding.answerBy(() => 500)
  const bought = await buyWith(publicToken)
  assert.deepEqual(
    [bought.responseCode, bought.answerVerified, bought.approved],
    ['91', true, false],
  )
})
