import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import test from 'node:test'
import type { ChipFinding } from '../../src/domain/chip-findings.ts'
import { reasonsByControl } from '../../src/domain/decide-controls.ts'
import { declineReasons, declineRules, explainDecline } from '../../src/domain/decline-reason.ts'
import { responseCodes, statusObjections, tryObjections } from '../../src/domain/response-code.ts'

/** The objections that a finding tells apart. */
const reported: readonly (readonly ['57' | '88', 'chip' | 'cryptogram', ChipFinding])[] = [
  ['57', 'chip', 'chip_declined'],
  ['88', 'chip', 'data_disagreement'],
  ['88', 'cryptogram', 'cryptogram_replayed'],
]

/** Every objection that an authorization can meet, with the check that makes it. */
const objections = [
  ...Object.values(statusObjections).map((code) => [code, 'status', 'failed'] as const),
  ['54', 'expiry', 'failed'] as const,
  ['57', 'transaction_type', 'failed'] as const,
  ['57', 'currency', 'failed'] as const,
  ['57', 'chip', 'failed'] as const,
  ['78', 'plastic', 'failed'] as const,
  ['54', 'plastic', 'failed'] as const,
  ['88', 'chip', 'failed'] as const,
  ['88', 'chip', 'not_given'] as const,
  ['88', 'cryptogram', 'failed'] as const,
  ['88', 'card_value', 'failed'] as const,
  ['88', 'cavv', 'failed'] as const,
  ['75', 'offline_pin', 'failed'] as const,
  ['86', 'pin_block', 'failed'] as const,
  ['86', 'pin_block', 'not_given'] as const,
  ['96', 'pin_block', 'unresolved'] as const,
  [tryObjections.pin.mismatch, 'pin', 'failed'] as const,
  [tryObjections.pin.blocked, 'pin', 'blocked'] as const,
  [tryObjections.pin.unresolved, 'pin', 'unresolved'] as const,
  [tryObjections.cvv.mismatch, 'cvv2', 'failed'] as const,
  [tryObjections.cvv.blocked, 'cvv2', 'blocked'] as const,
  [tryObjections.cvv.unresolved, 'cvv2', 'unresolved'] as const,
  ...Object.entries(reasonsByControl).map(
    ([control, reason]) =>
      [declineRules[reason].responseCode, 'controls', 'failed', control] as const,
  ),
  ['03', 'limits', 'failed', 'merchantLock'] as const,
  ['13', 'limits', 'failed', 'limits.day'] as const,
  ['61', 'limits', 'failed', 'limits.day'] as const,
  ['65', 'limits', 'failed', 'singleUse'] as const,
  ['96', 'limits', 'passed'] as const,
  ['05', 'decision', 'failed'] as const,
  ['51', 'decision', 'failed'] as const,
  ['57', 'decision', 'failed'] as const,
  ['59', 'decision', 'failed'] as const,
  ['1A', 'decision', 'failed'] as const,
  ['91', 'decision', 'unresolved'] as const,
  ['96', 'answer', 'unresolved'] as const,
  // A reversal came first, whatever the checks came to.
  ['94', 'pin', 'passed'] as const,
  // Another answer was recorded first under the key, whatever the checks came to.
  ['96', 'pin', 'passed'] as const,
]

test('every objection has a reason, and every reason an objection', () => {
  const found = objections.map(([responseCode, check, result, control]) => {
    const last = { check, result, ...(control !== undefined && { control }) }
    const decline = explainDecline(responseCode, [last])
    assert.ok(decline, `${responseCode} of ${check} ${result}`)
    assert.equal(declineRules[decline.declineReason].responseCode, responseCode)
    return decline.declineReason
  })
  for (const [responseCode, check, finding] of reported) {
    const decline = explainDecline(responseCode, [{ check, result: 'failed', findings: [finding] }])
    assert.ok(decline)
    found.push(decline.declineReason)
  }
  assert.deepEqual([...new Set(found)].sort(), [...declineReasons].sort())
})

test('every response code but those of approvals and unknown cards has a reason', () => {
  const explained = new Set<string>(Object.values(declineRules).map((rule) => rule.responseCode))
  const unexplained = responseCodes.filter((code) => !explained.has(code))
  assert.deepEqual(unexplained, ['00', '10', '14'])
})

test('a control names its owner and itself', () => {
  for (const owner of ['product', 'card'] as const) {
    const check = { check: 'controls', result: 'failed', control: 'channels', owner } as const
    const { control, declinedBy } = explainDecline('57', [check]) ?? {}
    assert.deepEqual([control, declinedBy], ['channels', `${owner}_control`])
  }
})

test('an approval has no decline reason', () => {
  assert.equal(explainDecline('00', [{ check: 'pin', result: 'passed' }]), null)
})

test('advice is one sentence, and reveals neither a value nor that a card was reported', () => {
  for (const { advice } of Object.values(declineRules)) {
    assert.match(advice, /^[A-Z][^.]{10,90}\.$/)
    assert.doesNotMatch(advice, /\d|stolen|lost/i)
  }
})

test('the reference lists each reason with what follows from it', async () => {
  const page = new URL('../../docs/reference/authorizations.md', import.meta.url)
  const rows = (await readFile(page, 'utf8')).split('\n')
  const listed = Object.entries(declineRules).map(
    ([reason, { advice, declinedBy, responseCode, retry }]) =>
      `| \`${reason}\` | \`${responseCode}\` | \`${declinedBy}\` | \`${retry}\` | ${advice} |`,
  )
  assert.deepEqual(
    rows.filter((row) => listed.includes(row)),
    listed,
  )
})
