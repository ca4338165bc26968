import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { composePinfoldRequest } from '../../../src/operations/decisions/compose-request.ts'
import { someRequest } from './requests.ts'

test('a request names the authorization, the deadline and what was checked', () => {
  assert.deepEqual(JSON.parse(composePinfoldRequest(someRequest())), {
    decisionId: '0193b1a0-0000-7000-8000-000000000002',
    purpose: 'authorize',
    simulated: false,
    deadline: '2026-11-28T12:00:01.500Z',
    requestedAt: '2026-11-28T12:00:00.000Z',
    sequence: 7,
    card: { publicToken: '1234567890', productId: 1001, lastFour: '7899' },
    authorizationId: '0193b1a0-0000-7000-8000-000000000001',
    step: 'authorization',
    transactionType: 'purchase',
    amounts: {
      billing: { amount: 1_250, currency: 'EUR' },
      transaction: { amount: 1_250, currency: 'EUR' },
      hold: { amount: 1_250, currency: 'EUR' },
    },
    partialAllowed: true,
    entryMode: 'chip',
    cardPresent: true,
    merchant: { id: 'SHOP-1', name: 'Corner Shop', country: 'DEU', categoryCode: '5411' },
    network: { networkId: 'test-network', reference: '000000000001' },
    checks: [{ check: 'card', result: 'passed' }],
    limits: [
      {
        owner: 'card',
        control: 'limits.day',
        maximumAmount: 50_000,
        spentAmount: 4_000,
        spentCount: 2,
      },
    ],
  })
})

test('a request has the same bytes after its facts were stored, in whatever order', () => {
  const request = someRequest({ paymentId: '0193b1a0-0000-7000-8000-000000000009' })
  const reverse = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(reverse)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value)
        .reverse()
        .map(([name, member]) => [name, reverse(member)]),
    )
  }
  const facts = reverse(JSON.parse(JSON.stringify(request.facts))) as typeof request.facts
  assert.equal(composePinfoldRequest({ ...request, facts }), composePinfoldRequest(request))
})

test('a request has no member that it was not given the right to name', () => {
  const { facts, ...request } = someRequest()
  const more = { ...facts, pan: '4242', card: { ...facts.card, cardholder: 'A. Person' } }
  assert.equal(
    composePinfoldRequest({ ...request, facts: more }),
    composePinfoldRequest({ ...request, facts }),
  )
})

/** The names of all members, with those within them. */
const listMembers = (value: unknown, path = ''): string[] => {
  if (Array.isArray(value)) return value.flatMap((each) => listMembers(each, `${path}[]`))
  if (typeof value !== 'object' || value === null) return [path]
  return Object.entries(value).flatMap(([name, member]) => listMembers(member, `${path}.${name}`))
}

test('the reference shows each member of a request', async () => {
  const page = await readFile(
    new URL('../../../docs/reference/decisions.md', import.meta.url),
    'utf8',
  )
  const [, shown = ''] = /```json\n(\{\n {2}"decisionId".*?)```/s.exec(page) ?? []
  const money = { amount: 1, currency: 'EUR' }
  const { card, network } = someRequest().facts
  const whole = someRequest({
    card: { ...card, customerReference: 'customer-7', metadata: { costCentre: '4711' } },
    paymentId: '0193b1a0-0000-7000-8000-000000000009',
    amounts: { billing: money, transaction: money, cashback: money },
    merchant: {
      id: 'SHOP-1',
      terminalId: 'TERM0001',
      name: 'Corner Shop',
      city: 'Berlin',
      country: 'DEU',
      categoryCode: '5411',
    },
    network: { ...network, transactionId: 'MCC6805611127' },
    limits: [
      {
        owner: 'card',
        control: 'limits.day',
        maximumAmount: 1,
        maximumCount: 1,
        spentAmount: 0,
        spentCount: 0,
      },
    ],
  })
  const composed = JSON.parse(composePinfoldRequest(whole))
  const listNames = (value: unknown) => [...new Set(listMembers(value))]
  assert.deepEqual(listNames(JSON.parse(shown)), listNames(composed))
})
