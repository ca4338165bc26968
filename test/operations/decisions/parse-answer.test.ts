import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type AnswerTerms,
  parsePinfoldAnswer,
} from '../../../src/operations/decisions/parse-answer.ts'

const now = new Date('2026-11-28T12:00:00.000Z')
const decisionId = '0193b1a0-0000-7000-8000-000000000002'
const terms = { decisionId, hold: { amount: 1_250, currency: 'EUR' }, partialAllowed: true, now }
const whole = { ...terms, partialAllowed: false }
const nothing = { ...terms, hold: null }

const plain = {
  amount: null,
  reason: null,
  responseCode: null,
  holdExpiresAt: null,
  metadata: null,
}
const approved = { decision: 'approve', ...plain }
const declined = { decision: 'decline', ...plain }
const challenged = { decision: 'challenge', ...plain }

const parse = (text: string | Uint8Array, by: AnswerTerms = terms) =>
  parsePinfoldAnswer(typeof text === 'string' ? Buffer.from(text) : text, by)

const usable: readonly (readonly [text: string, answer: object, by?: AnswerTerms])[] = [
  ['{"decision":"approve"}', approved],
  ['\uFEFF{"decision":"approve"}', approved],
  [' {"decision" : "approve", "note": {"of": "theirs"}, "__proto__": 1} ', approved],
  [`{"decision":"approve","decisionId":"${decisionId}"}`, approved],
  ['{"decision":"approve","amount":1}', { ...approved, amount: 1 }],
  ['{"decision":"approve","amount":1249}', { ...approved, amount: 1_249 }],
  ['{"decision":"approve","amount":1250}', approved],
  ['{"decision":"approve","amount":1250}', approved, whole],
  ['{"decision":"approve","amount":null,"metadata":null}', approved, nothing],
  ['{"decision":"approve","reason":"bonus"}', approved],
  [
    '{"decision":"approve","holdExpiresAt":"2026-12-29T12:00:00Z"}',
    { ...approved, holdExpiresAt: new Date('2026-12-29T12:00:00Z') },
  ],
  ['{"decision":"approve","holdExpiresAt":"2026-12-01T00:00:00Z"}', approved, nothing],
  ['{"decision":"decline"}', declined],
  ['{"decision":"decline","amount":0}', declined],
  [
    '{"decision":"decline","reason":"insufficient_funds"}',
    { ...declined, reason: 'insufficient_funds' },
  ],
  [
    '{"decision":"decline","reason":"do_not_honor","responseCode":"61"}',
    { ...declined, reason: 'do_not_honor', responseCode: '61' },
  ],
  ['{"decision":"challenge","reason":"anything"}', challenged],
  [
    '{"decision":"decline","metadata":{ "case": 12, "\\u0061": ["x"] }}',
    { ...declined, metadata: '{"case":12,"a":["x"]}' },
  ],
  [
    '{"decision":"approve","metadata":{"at":"2026-11-28 12:00:06","lines":["4,00","12:30"]}}',
    { ...approved, metadata: '{"at":"2026-11-28 12:00:06","lines":["4,00","12:30"]}' },
  ],
  [
    '{"decision":"approve","metadata":{"id":"87cbc1b5-527c-4f8c-b532-653032864aaf"}}',
    { ...approved, metadata: '{"id":"87cbc1b5-527c-4f8c-b532-653032864aaf"}' },
  ],
]

test('an answer counts by the members that matter, whatever else it says', () => {
  for (const [text, answer, by] of usable) assert.deepEqual(parse(text, by), { answer }, text)
})

const deep = `${'{"a":'.repeat(3_000)}1${'}'.repeat(3_000)}`

const badBodies: readonly (string | Uint8Array)[] = [
  '',
  'approve',
  '"approve"',
  'null',
  '7',
  '[{"decision":"approve"}]',
  '{"decision":"approve"',
  '{"decision":"approve"}{"decision":"approve"}',
  '{"decision":"approve"} // yes',
  "{'decision':'approve'}",
  '{"decision":"decline","decision":"approve"}',
  '{"decision":"decline","\\u0064ecision":"approve"}',
  '{"decision":"APPROVE"}',
  '{"decision":true}',
  '{"decision":["approve"]}',
  '{"approve":true}',
  '{"decision":"approve","decisionId":"0193b1a0-0000-7000-8000-000000000003"}',
  '{"decision":"approve","decisionId":null}',
  '{"decision":"decline","reason":"because"}',
  '{"decision":"decline","reason":"toString"}',
  '{"decision":"decline","reason":7}',
  '{"decision":"decline","responseCode":"00"}',
  '{"decision":"decline","responseCode":"91"}',
  '{"decision":"decline","responseCode":51}',
  '{"decision":"approve","holdExpiresAt":"2026-12-29T12:00:00.001Z"}',
  '{"decision":"approve","holdExpiresAt":"2026-11-28T12:00:00Z"}',
  '{"decision":"approve","holdExpiresAt":"2026-02-30T12:00:00Z"}',
  '{"decision":"approve","holdExpiresAt":"2026-12-01"}',
  '{"decision":"approve","holdExpiresAt":1796000000}',
  '{"decision":"approve","metadata":"text"}',
  '{"decision":"approve","metadata":[]}',
  `{"decision":"approve","metadata":{"a":"${'x'.repeat(1_993)}"}}`,
  '{"decision":"approve","metadata":{"card":"4242424242424242"}}',
  '{"decision":"approve","metadata":{"card":"4242 4242-4242 4242"}}',
  '{"decision":"approve","metadata":{"card":"\\u0034242424242424242"}}',
  '{"decision":"approve","metadata":{"4242424242424242":1}}',
  '{"decision":"approve","metadata":{"card":"4242_4242_4242_4242"}}',
  '{"decision":"approve","metadata":{"card":"4242/4242,4242:4242"}}',
  '{"decision":"approve","metadata":{"card":"4242\\t4242\\n4242\\r\\n4242"}}',
  '{"decision":"approve","metadata":{"a":[{"card 4242, 4242":1},"4242 | 4242 | 4242 | 4242"]}}',
  '{"decision":"approve","metadata":{"card":4242424242424242}}',
  `{"decision":"approve","metadata":${deep}}`,
  Buffer.from('7b226465636973696f6e223a22617070726f7665222c2261223a22ff227d', 'hex'),
  new Uint8Array(16_384),
]

test('a body that another reader could read otherwise, or that is out of bounds, is no answer', () => {
  for (const text of badBodies) assert.deepEqual(parse(text), { error: 'bad_body' }, `${text}`)
  const most = `{"decision":"approve","metadata":{"a":"${'x'.repeat(1_992)}"}}`
  assert.ok('answer' in parse(most))
})

const badAmounts: readonly (readonly [amount: string, by?: AnswerTerms])[] = [
  ['0'],
  ['-1'],
  ['-1250'],
  ['1251'],
  ['12.5'],
  ['1e400'],
  ['"1250"'],
  ['true'],
  ['{}'],
  ['999999999999999999999'],
  ['1249', whole],
  ['1', nothing],
  ['0', nothing],
]

test('an approval of an amount that was not asked about is no answer', () => {
  for (const [amount, by] of badAmounts) {
    const text = `{"decision":"approve","amount":${amount}}`
    assert.deepEqual(parse(text, by), { error: 'bad_amount' }, text)
  }
})
