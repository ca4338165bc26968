import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  composeThreddRequest,
  parseThreddAnswer,
} from '../../../src/operations/decisions/thredd-ehi.ts'
import { someRequest } from './requests.ts'

const euros = (amount: number) => ({ amount, currency: 'EUR' })
const yen = (amount: number) => ({ amount, currency: 'JPY' })

test('an authorization is a GetTransaction whose debit is negative, in decimals', () => {
  const request = someRequest({
    card: { ...someRequest().facts.card, customerReference: 'customer-7' },
    network: { networkId: 'n', reference: '433210456861', transactionId: 'MCC6805611127' },
  })
  assert.deepEqual(JSON.parse(composeThreddRequest(request)), {
    MTID: '0100',
    Txn_Type: 'A',
    Proc_Code: '000000',
    Token: 1234567890,
    ProductID: 1001,
    Cust_Ref: 'customer-7',
    Bill_Amt: -12.5,
    Bill_Ccy: '978',
    Txn_Amt: 12.5,
    Txn_CCy: '978',
    Txn_Ctry: 'DEU',
    Txn_Desc: 'Corner Shop',
    Merch_ID_DE42: 'SHOP-1',
    Merch_Name: 'Corner Shop',
    Merch_Country: 'DEU',
    MCC_Code: '5411',
    Ret_Ref_No_DE37: '433210456861',
    Network_Transaction_ID: 'MCC6805611127',
  })
})

test('a refund is a credit, an account check is zero, and a yen has no decimals', () => {
  const compose = (...parts: Parameters<typeof someRequest>) =>
    JSON.parse(composeThreddRequest(someRequest(...parts)))
  const refund = compose(
    { transactionType: 'refund', amounts: { billing: euros(99_999_999_999_9) } },
    { hold: null },
  )
  assert.deepEqual([refund.Proc_Code, refund.Bill_Amt], ['200000', 9999999999.99])
  const check = compose({ amounts: { billing: euros(0) } }, { hold: null })
  assert.deepEqual([check.Bill_Amt, Object.is(check.Bill_Amt, 0)], [0, true])
  const converted = compose(
    { amounts: { billing: euros(703), transaction: yen(1_200) } },
    { hold: euros(500) },
  )
  const { Bill_Amt, Bill_Ccy, Txn_Amt, Txn_CCy } = converted
  assert.deepEqual([Bill_Amt, Bill_Ccy, Txn_Amt, Txn_CCy], [-5, '978', 1200, '392'])
  const nothing = compose({ amounts: {}, transactionType: 'inquiry' }, { hold: null })
  assert.deepEqual([nothing.Proc_Code, 'Bill_Amt' in nothing], ['300000', false])
})

const terms = {
  decisionId: '0193b1a0-0000-7000-8000-000000000002',
  hold: euros(1_250),
  partialAllowed: true,
  now: new Date('2026-11-28T12:00:00Z'),
}
const plain = {
  amount: null,
  reason: null,
  responseCode: null,
  holdExpiresAt: null,
  metadata: null,
}

const answers: readonly (readonly [text: string, parsed: object, by?: object])[] = [
  [
    '{"Responsestatus":"00","CurBalance":0,"AvlBalance":100,"Acknowledgement":"1",' +
      '"LoadAmount":50,"Bill_Amt_Approved":0,"Update_Balance":1}',
    { answer: { decision: 'approve', ...plain } },
  ],
  [
    '{"Responsestatus":"10","Acknowledgement":"1","Bill_Amt_Approved":-4.35}',
    { answer: { decision: 'approve', ...plain, amount: 435 } },
  ],
  [
    '{"Responsestatus":"10","Acknowledgement":1,"Bill_Amt_Approved":8.29}',
    { answer: { decision: 'approve', ...plain, amount: 829 } },
  ],
  [
    '{"Responsestatus":"10","Acknowledgement":"1","Bill_Amt_Approved":800}',
    { answer: { decision: 'approve', ...plain, amount: 800 } },
    { hold: yen(1_250) },
  ],
  [
    '{"Responsestatus":"51","Acknowledgement":"1"}',
    { answer: { decision: 'decline', ...plain, reason: 'insufficient_funds' } },
  ],
  ['{"Responsestatus":"55","Acknowledgement":"1"}', { answer: { decision: 'decline', ...plain } }],
  [
    '{"Responsestatus":"1A","Acknowledgement":"1"}',
    { answer: { decision: 'challenge', ...plain } },
  ],
  ['{"Responsestatus":"10","Acknowledgement":"1"}', { error: 'bad_amount' }],
  [
    '{"Responsestatus":"10","Acknowledgement":"1","Bill_Amt_Approved":12.51}',
    { error: 'bad_amount' },
  ],
  [
    '{"Responsestatus":"10","Acknowledgement":"1","Bill_Amt_Approved":4.355}',
    { error: 'bad_amount' },
  ],
  [
    '{"Responsestatus":"10","Acknowledgement":"1","Bill_Amt_Approved":4.35}',
    { error: 'bad_amount' },
    { partialAllowed: false },
  ],
  [
    '{"Responsestatus":"10","Acknowledgement":"1","Bill_Amt_Approved":4.35}',
    { error: 'bad_amount' },
    { hold: null },
  ],
  ['{"Responsestatus":"00"}', { error: 'bad_body' }],
  ['{"Responsestatus":"00","Acknowledgement":"0"}', { error: 'bad_body' }],
  ['{"Responsestatus":0,"Acknowledgement":"1"}', { error: 'bad_body' }],
  ['{"Acknowledgement":"1"}', { error: 'bad_body' }],
  ['{"decision":"approve"}', { error: 'bad_body' }],
  ['<Responsestatus>00</Responsestatus>', { error: 'bad_body' }],
]

test('an answer counts only with its acknowledgement, and a part only where it is allowed', () => {
  for (const [text, parsed, by] of answers) {
    assert.deepEqual(parseThreddAnswer(Buffer.from(text), { ...terms, ...by }), parsed, text)
  }
})
