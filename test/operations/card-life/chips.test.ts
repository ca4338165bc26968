import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { before, suite, test } from 'node:test'
import { usualChip } from '../../../src/domain/product-chip.ts'
import { product } from '../../support/builders.ts'
import { chipMoney, type PlayedChip, type Presented, playChip } from '../../support/chip.ts'
import { databaseEngines } from '../../support/engines.ts'
import { ask, type IssuedCard, issueCard, otherDigits, pinTry } from '../../support/network.ts'
import { openTestService, sql, type TestService } from '../../support/service.ts'

const profile = 'visa-cvn18'

for (const { name, open, skip } of databaseEngines) {
  suite(`the chips of a card’s plastics, on ${name}`, { skip }, () => {
    let service: TestService
    before(async () => {
      const env = { RATE_LIMIT: 'off', SANDBOX_CLOCK: '2031-03-15T10:00:00Z' }
      service = await openTestService({ database: await open(), env })
      await product(service.database, { productId: 3301, chip: { profile, ...usualChip } })
      const chip = { profile, ...usualChip, firstPanSequenceNumber: 1 } as const
      await product(service.database, { productId: 3302, chip })
    })

    const issue = (members: object = {}): Promise<IssuedCard> =>
      issueCard(service, {
        cardProduct: 3301,
        cardType: 'Physical',
        activateNow: true,
        expiryDate: '2031-05',
        ...members,
      })
    /** The chip of a plastic, which has its number as the PAN sequence number. */
    const chipOf = (card: IssuedCard, plasticNumber: number): Promise<PlayedChip> =>
      playChip(service, card, profile, String(plasticNumber).padStart(2, '0'))
    const act = async (
      { publicToken }: IssuedCard,
      method: string,
      path: string,
      body?: object,
    ) => {
      const answer = await service.call(method, `/cards/${publicToken}/${path}`, body && { body })
      assert.ok(answer.status < 300, answer.text)
    }
    const renew = (card: IssuedCard, renewStep = 'Renew') =>
      act(card, 'POST', 'renew', { renewStep })
    const cancelLost = (card: IssuedCard) => act(card, 'DELETE', 'renewal?notReceived=true')
    const triesOf = async ({ publicToken }: IssuedCard): Promise<number> =>
      (await service.call('GET', `/card-pin/${publicToken}/pin/status`)).json.remainingTries

    let counter = 0
    /** Presents a chip with a wrong PIN. A retired or waiting one never gets as far as the PIN. */
    const present = async (
      card: IssuedCard,
      chip: PlayedChip,
      members: object = {},
      presented: Omit<Presented, 'atc'> = {},
    ) => {
      counter += 1
      const { json, text } = await ask(service, {
        ...pinTry(service, card, otherDigits(card.pin)),
        ...chipMoney,
        ...members,
        chip: await chip.present({ atc: counter, ...presented }),
      })
      assert.ok(json.responseCode, text)
      return json.responseCode
    }
    const presentRight = (card: IssuedCard, chip: PlayedChip) =>
      present(card, chip, pinTry(service, card))
    const newestReason = async ({ publicToken }: IssuedCard) => {
      const path = `/cards/${publicToken}/authorizations?limit=1`
      return (await service.call('GET', path)).json[0].declineReason
    }

    test('the chip of a plastic works from its activation until the next one becomes current', async () => {
      const card = await issue()
      const [first, second] = [await chipOf(card, 0), await chipOf(card, 1)]
      await renew(card)
      for (const entryMode of ['chip', 'contactless', 'atm']) {
        assert.equal(await present(card, second, { entryMode }), '78')
        assert.equal(await newestReason(card), 'plastic_not_activated')
      }
      assert.equal(await presentRight(card, first), '00')
      await renew(card, 'Migrate')
      for (const entryMode of ['chip', 'contactless', 'atm']) {
        assert.equal(await present(card, first, { entryMode }), '54')
        assert.equal(await newestReason(card), 'plastic_retired')
      }
      assert.equal(await triesOf(card), 3)
      assert.equal(await presentRight(card, second), '00')
      assert.equal(await present(card, second), '55')
      assert.equal(await triesOf(card), 2)
    })

    test('a reprint has the same expiry, so the chip alone tells which plastic it is', async () => {
      const card = await issue()
      const [first, second] = [await chipOf(card, 0), await chipOf(card, 1)]
      const dated = { expiryDate: '2031-05' }
      await renew(card, 'RenewWithSameExpiry')
      assert.equal(await present(card, second, dated), '78')
      await renew(card, 'Migrate')
      assert.equal(await present(card, first, dated), '54')
      assert.equal(await triesOf(card), 3)
      assert.equal(await presentRight(card, second), '00')
    })

    test('the chip of a plastic that was made and lost never works', async () => {
      const card = await issue()
      const chips = [await chipOf(card, 0), await chipOf(card, 1), await chipOf(card, 2)] as const
      await renew(card)
      await cancelLost(card)
      assert.equal(await present(card, chips[1]), '54')
      assert.equal(await newestReason(card), 'plastic_retired')
      assert.equal(await presentRight(card, chips[0]), '00')
      await renew(card)
      assert.equal(await present(card, chips[1]), '54')
      assert.equal(await present(card, chips[2]), '78')
      await renew(card, 'Migrate')
      assert.equal(await present(card, chips[1]), '54')
      assert.equal(await triesOf(card), 3)
      assert.equal(await presentRight(card, chips[2]), '00')
    })

    test('the chip of the current plastic alone gets a new PIN', async () => {
      const card = await issue()
      const [first, second] = [await chipOf(card, 0), await chipOf(card, 1)]
      const pins = ['7193', '6284', '8305'].filter((pin) => !card.pan.endsWith(pin))
      const setPin = async (at: number) => {
        const path = `/card-pin/${card.publicToken}/pin`
        const { status, text } = await service.call('POST', path, { body: { pin: pins[at] } })
        assert.equal(status, 204, text)
      }
      const sendings = async () => {
        const rows = await sql<{ sent: number }>(
          service.database,
          `select sent_count as sent from chip_command
           where public_token = $1 and state in ('pending', 'sent')`,
          [card.publicToken],
        )
        return rows.map(({ sent }) => sent)
      }
      await renew(card)
      assert.equal(await present(card, second), '78')
      await setPin(0)
      assert.equal(await present(card, second), '78')
      assert.deepEqual(await sendings(), [0], 'the one that waits gets none')
      await present(card, first)
      assert.deepEqual(await sendings(), [1])
      await renew(card, 'Migrate')
      await setPin(1)
      assert.equal(await present(card, first), '54')
      assert.deepEqual(await sendings(), [0], 'the retired one gets none')
      await present(card, second)
      assert.deepEqual(await sendings(), [1])
    })

    test('a number that no plastic of the card has is that of a bureau’s own numbering', async () => {
      const card = await issue()
      const chip = await chipOf(card, 7)
      assert.equal(await presentRight(card, chip), '00')
      await renew(card)
      assert.equal(await presentRight(card, chip), '00')
    })

    test('a bureau that numbers chips from 01 has each chip declined and accepted as one from 00', async () => {
      const card = await issue({ cardProduct: 3302 })
      const chips = [await chipOf(card, 1), await chipOf(card, 2)] as const
      assert.equal(await presentRight(card, chips[0]), '00')
      await renew(card)
      assert.equal(await presentRight(card, chips[0]), '00')
      assert.equal(await present(card, chips[1]), '78')
      assert.equal(await newestReason(card), 'plastic_not_activated')
      await renew(card, 'Migrate')
      assert.equal(await presentRight(card, chips[1]), '00')
      assert.equal(await present(card, chips[0]), '54')
      assert.equal(await newestReason(card), 'plastic_retired')
      assert.equal(await present(card, chips[1]), '55')
      assert.equal(await triesOf(card), 2)
    })

    test('a wrong cryptogram of a retired chip costs no try, and is counted as a guess', async () => {
      const card = await issue()
      const first = await chipOf(card, 0)
      await renew(card)
      await renew(card, 'Migrate')
      const changed = { '9F26': randomBytes(8).toString('hex') }
      assert.equal(await present(card, first, {}, { changed }), '54')
      assert.equal(await triesOf(card), 3)
      const [{ guesses } = { guesses: 0 }] = await sql<{ guesses: number }>(
        service.database,
        `select cardinality(given_at) as guesses from card_mistake
         where public_token = $1 and kind = 'cryptogram'`,
        [card.publicToken],
      )
      assert.equal(guesses, 1)
    })

    test('the plastic of a converted card is refused with the data of its chip, also by a tap', async () => {
      const card = await issue({ cardType: 'Virtual' })
      await act(card, 'PUT', 'card-type', { cardType: 'Physical' })
      const chip = await chipOf(card, 1)
      for (const entryMode of ['chip', 'contactless']) {
        assert.equal(await present(card, chip, { entryMode }), '78')
      }
      assert.equal(await triesOf(card), 3)
      const { publicToken } = card
      const telephone = { publicToken, entryMode: 'contactless', ...chipMoney }
      assert.equal((await ask(service, telephone)).json.responseCode, '00')
      await act(card, 'PUT', 'status', { cardStatusCode: '00' })
      assert.equal(await presentRight(card, chip), '00')
    })

    test('of chips that race their activation, each is compared or refused, and spends as it is', async () => {
      for (let round = 0; round < 10; round += 1) {
        const card = await issue()
        const [first, second] = [await chipOf(card, 0), await chipOf(card, 1)]
        await renew(card)
        const [old, next] = await Promise.all([
          present(card, first),
          present(card, second),
          renew(card, 'Migrate'),
        ])
        assert.ok(['55', '54'].includes(old), `the old one: ${old}`)
        assert.ok(['55', '78'].includes(next), `the new one: ${next}`)
        const compared = [old, next].filter((code) => code === '55').length
        assert.equal(await triesOf(card), 3 - compared)
        assert.equal(await present(card, first), '54')
      }
    })

    test('many requests at once with chips of other plastics spend no try', async () => {
      const cards = await Promise.all(Array.from({ length: 12 }, () => issue()))
      for (const card of cards) await renew(card)
      const codes = await Promise.all(
        cards.flatMap((card) =>
          [0, 1, 2].map(async (number) => present(card, await chipOf(card, number))),
        ),
      )
      for (const [at, code] of codes.entries()) assert.equal(code, at % 3 === 1 ? '78' : '55')
      for (const card of cards) assert.equal(await triesOf(card), 1)
    })
  })
}
