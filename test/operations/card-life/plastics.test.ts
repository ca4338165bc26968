import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { entryModes } from '../../../src/domain/entry-mode.ts'
import { databaseEngines } from '../../support/engines.ts'
import {
  ask,
  type IssuedCard,
  issueCard,
  otherDigits,
  pinTry,
  recoverCard,
} from '../../support/network.ts'
import { openTestService, sql, type TestService } from '../../support/service.ts'

for (const { name, open, skip } of databaseEngines) {
  suite(`which plastic is authorized, on ${name}`, { skip }, () => {
    let service: TestService
    before(async () => {
      const env = { RATE_LIMIT: 'off', SANDBOX_CLOCK: '2031-03-15T10:00:00Z' }
      service = await openTestService({ database: await open(), env })
    })

    const post = async (path: string, body: object) => {
      const answer = await service.call('POST', path, { body })
      assert.ok(answer.status < 300, answer.text)
      return answer.json
    }
    const convert = async ({ publicToken }: IssuedCard) => {
      const body = { cardType: 'Physical' }
      const { status } = await service.call('PUT', `/cards/${publicToken}/card-type`, { body })
      assert.equal(status, 200)
    }
    const read = async ({ publicToken }: IssuedCard) =>
      (await service.call('GET', `/cards/${publicToken}`)).json
    const reasonOf = async (card: IssuedCard, request: object) => {
      const { json } = await ask(service, {
        publicToken: card.publicToken,
        reference: 'R',
        ...request,
      })
      const path = `/cards/${card.publicToken}/authorizations?limit=1`
      const [{ declineReason = null }] = (await service.call('GET', path)).json
      return [json.responseCode, declineReason]
    }

    test('the plastic of a converted card is refused until it is activated, its number works on', async () => {
      const card = await issueCard(service)
      await convert(card)
      const verdicts: Record<string, unknown> = {}
      for (const entryMode of entryModes) {
        verdicts[entryMode] = (await reasonOf(card, { entryMode }))[0]
      }
      assert.deepEqual(verdicts, {
        chip: '78',
        contactless: '00',
        magstripe: '78',
        atm: '78',
        ecommerce: '00',
        moto: '00',
      })
      const wrong = pinTry(service, card, otherDigits(card.pin))
      for (const entryMode of ['chip', 'magstripe', 'atm']) {
        const found = await reasonOf(card, { ...wrong, entryMode })
        assert.deepEqual(found, ['78', 'plastic_not_activated'])
      }
      assert.equal((await read(card)).pinStatus.remainingTries, 3)
    })

    for (const [how, activate] of [
      ['a change to 00', ['PUT', 'status', { cardStatusCode: '00' }]],
      ['Migrate', ['POST', 'renew', { renewStep: 'Migrate' }]],
    ] as const) {
      test(`the plastic of a converted card is activated by ${how}, once`, async () => {
        const card = await issueCard(service)
        await convert(card)
        const [method, path, body] = activate
        const answer = await service.call(method, `/cards/${card.publicToken}/${path}`, { body })
        assert.equal(answer.status, 204)
        // The plastic can be used, and its track is missing.
        assert.equal((await reasonOf(card, { entryMode: 'magstripe' }))[0], '88')
        const again = await service.call(method, `/cards/${card.publicToken}/${path}`, { body })
        assert.equal(again.status, method === 'PUT' ? 204 : 409)
        const told = await sql<{ details: string }>(
          service.database,
          "select details from event where public_token = $1 and type = 'card.activated'",
          [card.publicToken],
        )
        assert.deepEqual(
          told.map(({ details }) => JSON.parse(details)),
          [{ plasticNumber: 1 }],
        )
      })
    }

    test('the end of a restriction activates no plastic, which may be on its way', async () => {
      const card = await issueCard(service)
      await convert(card)
      const call = (method: string, path: string, body: object) =>
        service.call(method, `/cards/${card.publicToken}/${path}`, { body })
      const setStatus = async (cardStatusCode: string) => {
        assert.equal((await call('PUT', 'status', { cardStatusCode })).status, 204)
      }
      await setStatus('62')
      const refused = await call('POST', 'renew', { renewStep: 'Migrate' })
      assert.deepEqual([refused.status, refused.json.code], [409, 'nothing_to_migrate'])
      assert.equal(
        refused.json.detail,
        'The card must be active (00) before plastic 1 is activated.',
      )
      await setStatus('00')
      assert.deepEqual(await reasonOf(card, { entryMode: 'magstripe' }), [
        '78',
        'plastic_not_activated',
      ])
      await setStatus('00')
      assert.equal((await reasonOf(card, { entryMode: 'magstripe' }))[0], '88')
    })

    test('the expiry picks the plastic: the present one, the one that waits, or none', async () => {
      const card = await issueCard(service, {
        cardType: 'Physical',
        activateNow: true,
        expiryDate: '2031-05',
      })
      await post(`/cards/${card.publicToken}/renew`, {})
      const online = { entryMode: 'ecommerce', cvv2: otherDigits(card.cvv2) }
      const waiting = { ...online, expiryDate: '2035-05' }
      assert.deepEqual(await reasonOf(card, waiting), ['78', 'plastic_not_activated'])
      const none = { ...online, expiryDate: '2033-01' }
      assert.deepEqual(await reasonOf(card, none), ['54', 'wrong_expiry_date'])
      assert.equal((await read(card)).cvvStatus.remainingTries, 3)
      const present = { entryMode: 'ecommerce', expiryDate: '2031-05', cvv2: card.cvv2 }
      assert.deepEqual(await reasonOf(card, present), ['00', null])
      await post(`/cards/${card.publicToken}/renew`, { renewStep: 'Migrate' })
      assert.deepEqual(await reasonOf(card, present), ['54', 'wrong_expiry_date'])
      const { cvv2 } = await recoverCard(service, card.publicToken)
      // The CVV2 of one card of a thousand stays the same.
      const old = cvv2 === card.cvv2 ? otherDigits(cvv2) : card.cvv2
      assert.deepEqual(await reasonOf(card, { ...present, expiryDate: '2035-05', cvv2: old }), [
        'N7',
        'wrong_cvv2',
      ])
      assert.equal((await read(card)).cvvStatus.remainingTries, 2)
    })
  })
}
