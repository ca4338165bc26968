import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import {
  type LifeStatus,
  lifeActs,
  listLifeMoves,
  listLifeStatuses,
} from '../../../src/domain/card-life.ts'
import { cardStatusCodes } from '../../../src/domain/card-status.ts'
import { statusObjections } from '../../../src/domain/response-code.ts'
import { product } from '../../support/builders.ts'
import { ask } from '../../support/network.ts'
import { openTestService, type TestService } from '../../support/service.ts'

/** Each cell of the table in docs/reference/card-life.md, through the front door. */

const start = '2031-03-15T10:00:00Z'
/** Expired since 15 days, of the three months of grace. */
const inGrace = '2031-06-15T10:00:00Z'
const afterGrace = '2031-09-15T10:00:00Z'
const productId = 2300

let service: TestService

before(async () => {
  service = await openTestService({ env: { RATE_LIMIT: 'off', SANDBOX_CLOCK: start } })
  await product(service.database, { productId, bin: '40000223' })
})

const moveTo = async (now: string): Promise<void> => {
  const call = { as: 'admin', listener: 'private', body: { now } } as const
  assert.equal((await service.call('POST', '//sandbox/clock', call)).status, 200)
}

type CardType = 'Virtual' | 'Physical'

/** Makes a card that can be renewed. @returns its token. */
const create = async (cardType: CardType, activateNow = true): Promise<string> => {
  const members = { cardProduct: productId, cardType, activateNow, expiryDate: '2031-05' }
  return (await service.createCard(members)).publicToken
}

const setStatus = (publicToken: string, cardStatusCode: string) =>
  service.call('PUT', `/cards/${publicToken}/status`, { body: { cardStatusCode } })

const renew = (publicToken: string) => service.call('POST', `/cards/${publicToken}/renew`)

const replace = (publicToken: string) => service.call('POST', `/cards/${publicToken}/replace`)

const convert = (publicToken: string) =>
  service.call('PUT', `/cards/${publicToken}/card-type`, { body: { cardType: 'Physical' } })

const authorize = async (publicToken: string): Promise<string> =>
  (await ask(service, { publicToken, entryMode: 'ecommerce' })).json.responseCode

/** Brings a card into a status. The clock makes cards expired, and the caller moves it. */
async function bring(status: LifeStatus, cardType: CardType): Promise<string> {
  const publicToken = await create(cardType, status !== '02')
  if (status === 'retired') {
    const { json } = await replace(publicToken)
    if (cardType === 'Physical') assert.equal((await setStatus(json.publicToken, '00')).status, 204)
  } else if (!['00', '02', '54'].includes(status)) {
    assert.equal((await setStatus(publicToken, status)).status, 204)
  }
  const read = await service.call('GET', `/cards/${publicToken}/status`)
  const expected = status === 'retired' ? '62' : status === '54' ? '00' : status
  assert.equal(read.json.cardStatusCode, expected)
  return publicToken
}

const refusals = {
  renew: { expected: 204, codes: ['card_closed', 'card_already_replaced'] },
  replace: { expected: 200, codes: ['card_closed', 'card_already_replaced'] },
  convert: {
    expected: 200,
    codes: ['card_closed', 'card_already_replaced', 'card_status_conflict'],
  },
} as const

const acts = { renew, replace, convert }

function declareActs(status: LifeStatus, open: (cardType: CardType) => Promise<string>): void {
  for (const act of ['renew', 'replace', 'convert'] as const) {
    const cardTypes: readonly CardType[] = act === 'convert' ? ['Virtual'] : ['Virtual', 'Physical']
    const isAllowed = ['yes', 'within_grace'].includes(lifeActs[status][act])
    test(`a card in ${status} ${isAllowed ? 'allows' : 'refuses'} ${act}`, async () => {
      for (const cardType of cardTypes) {
        const answer = await acts[act](await open(cardType))
        if (isAllowed) {
          assert.equal(answer.status, refusals[act].expected, answer.text)
          continue
        }
        assert.equal(answer.status, 409, answer.text)
        assert.ok(
          refusals[act].codes.some((code) => code === answer.json.code),
          answer.text,
        )
      }
    })
  }
}

function declareMoves(status: LifeStatus, open: (cardType: CardType) => Promise<string>): void {
  const present = status === 'retired' ? '62' : status
  for (const to of cardStatusCodes) {
    // The clock alone sets 54, and the member refuses it.
    if (to === '54' || to === present) continue
    const isAllowed = listLifeMoves(status).includes(to)
    test(`a card in ${status} ${isAllowed ? 'can' : 'cannot'} be set to ${to}`, async () => {
      const answer = await setStatus(await open('Physical'), to)
      if (isAllowed) return assert.equal(answer.status, 204, answer.text)
      assert.deepEqual([answer.status, answer.json.code], [409, 'card_status_conflict'])
    })
  }
}

function declareAuthorization(
  status: LifeStatus,
  open: (cardType: CardType) => Promise<string>,
): void {
  const code = statusObjections[status === 'retired' ? '62' : status] ?? '00'
  test(`an authorization of a card in ${status} answers ${code}`, async () => {
    for (const cardType of ['Virtual', 'Physical'] as const) {
      assert.equal(await authorize(await open(cardType)), code)
    }
  })
}

// Subtests run in order, and the clock only moves forwards.
suite('the table of the life of a card', () => {
  for (const status of listLifeStatuses()) {
    if (status === '54') continue
    const open = (cardType: CardType) => bring(status, cardType)
    declareActs(status, open)
    declareMoves(status, open)
    declareAuthorization(status, open)
  }

  suite('of expired cards', () => {
    const made = { Virtual: [] as string[], Physical: [] as string[] }

    before(async () => {
      for (let number = 0; number < 12; number += 1) {
        made.Virtual.push(await bring('54', 'Virtual'))
        made.Physical.push(await bring('54', 'Physical'))
      }
      await moveTo(inGrace)
    })

    const open = async (cardType: CardType): Promise<string> => {
      const publicToken = made[cardType].pop()
      assert.ok(publicToken)
      return publicToken
    }

    declareActs('54', open)
    declareMoves('54', open)
    declareAuthorization('54', open)

    test('an expired card allows no act after the months of grace', async () => {
      await moveTo(afterGrace)
      for (const cardType of ['Virtual', 'Physical'] as const) {
        const publicToken = await open(cardType)
        for (const act of [renew, replace]) {
          const answer = await act(publicToken)
          assert.deepEqual([answer.status, answer.json.code], [409, 'card_closed'])
        }
      }
    })
  })
})
