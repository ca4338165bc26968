import assert from 'node:assert/strict'
import { before, beforeEach, test } from 'node:test'
import { recordLostBlocks } from '../../../src/operations/cards/tries.ts'
import {
  ask,
  cvvTry,
  type IssuedCard,
  issueCard,
  otherDigits,
  pinTry,
} from '../../support/network.ts'
import { sql } from '../../support/service.ts'
import { onEachEngine, type Services } from './engines.ts'
import { ageWhatWasLost } from './killed.ts'
import { attemptsOf, counterOf, eventsOf, isAnswer, typesOf } from './tried.ts'
import { delayComparisons, hsmAway, type WatchedHsm, watchHsm } from './watched-hsm.ts'

onEachEngine((engine) => {
  let opened: Services
  let hsm: WatchedHsm
  let card: IssuedCard
  before(async () => {
    opened = await engine.open()
    hsm = watchHsm(opened.services)
  })
  beforeEach(async () => {
    hsm.before = () => {}
    card = await issueCard(opened.service)
  })

  const wrongPin = (members: object = {}) => ({
    ...pinTry(opened.service, card, otherDigits(card.pin)),
    ...members,
  })

  const lastEvents = async (count: number) =>
    (await eventsOf(opened.database, card.publicToken))
      .filter((event) => !isAnswer(event))
      .slice(-count)
      .map(({ details, type }) => ({ type, ...JSON.parse(details) }))

  test('each wrong PIN and CVV2 is told with what remains and how it came, the block after the last', async () => {
    for (const tries of [1, 2, 3]) {
      const reference = `PIN-${tries}`
      await ask(opened.service, wrongPin({ entryMode: 'atm', reference }))
    }
    const recordedEvent = (
      type: string,
      remainingTries: number,
      entryMode: string,
      reference: string,
    ) => ({
      type,
      remainingTries,
      entryMode,
      reference,
    })
    assert.deepEqual(await lastEvents(4), [
      recordedEvent('pin.attempt_failed', 2, 'atm', 'PIN-1'),
      recordedEvent('pin.attempt_failed', 1, 'atm', 'PIN-2'),
      recordedEvent('pin.attempt_failed', 0, 'atm', 'PIN-3'),
      { type: 'pin.blocked', blockedBy: 'tries' },
    ])
    const wrong = { ...cvvTry(card, otherDigits(card.cvv2)), entryMode: 'moto', reference: 'CVV-1' }
    await ask(opened.service, wrong)
    assert.deepEqual(await lastEvents(1), [recordedEvent('cvv.attempt_failed', 2, 'moto', 'CVV-1')])
    await typesOf(opened.database, card.publicToken)
  })

  test('each answer has its event, after those of its try, with its checks and the reason of a decline', async () => {
    const { cvv2, publicToken } = card
    await ask(opened.service, { publicToken, reference: 'NOTHING' })
    await ask(opened.service, { ...pinTry(opened.service, card), cvv2, reference: 'BOTH' })
    await ask(opened.service, wrongPin({ reference: 'WRONG' }))
    await ask(opened.service, { publicToken, expiryDate: '2099-12', reference: 'EXPIRY' })
    const read = `/cards/${publicToken}/authorizations`
    const ids = (await opened.service.call('GET', read)).json.map(
      ({ authorizationId }: { authorizationId: string }) => authorizationId,
    )
    const events = (await eventsOf(opened.database, publicToken)).slice(-5)
    const answered = (type: string, reference: string, members: object) => ({
      type: `authorization.${type}`,
      authorizationId: ids.pop(),
      ...members,
      entryMode: 'chip',
      reference,
      transactionType: 'purchase',
    })
    const checks = (...results: readonly string[]) =>
      ['card passed', 'status passed', ...results].map((text) => {
        const [check, result] = text.split(' ')
        return { check, result }
      })
    const approved = {
      responseCode: '00',
      checks: checks('expiry not_given', 'pin_block not_given'),
    }
    const bothRight = {
      responseCode: '00',
      checks: checks('expiry not_given', 'pin_block passed', 'pin passed', 'cvv2 passed'),
      tryNumber: 1,
    }
    const wrong = {
      responseCode: '55',
      declineReason: 'wrong_pin',
      declinedBy: 'pin',
      checks: checks('expiry not_given', 'pin_block passed', 'pin failed'),
      tryNumber: 2,
    }
    const mistyped = {
      responseCode: '54',
      declineReason: 'wrong_expiry_date',
      declinedBy: 'card',
      checks: checks('expiry failed'),
    }
    assert.deepEqual(
      events.map(({ details, type }) => ({ type, ...JSON.parse(details) })),
      [
        answered('approved', 'NOTHING', approved),
        answered('approved', 'BOTH', bothRight),
        {
          type: 'pin.attempt_failed',
          remainingTries: 2,
          entryMode: 'chip',
          reference: 'WRONG',
        },
        answered('declined', 'WRONG', wrong),
        answered('declined', 'EXPIRY', mistyped),
      ],
    )
    assert.equal(ids.length, 0)
    await typesOf(opened.database, publicToken)
  })

  test('a match, a silent HSM, a blocked PIN and a bad block are no failed attempts', async () => {
    const before = (await typesOf(opened.database, card.publicToken)).length
    await ask(opened.service, pinTry(opened.service, card))
    hsm.before = () => Promise.reject(hsmAway())
    await ask(opened.service, pinTry(opened.service, card))
    await ask(opened.service, {
      ...wrongPin(),
      pinBlock: { format: 'ISO_FORMAT_0', key: 'zone-a', data: '' },
    })
    assert.equal((await typesOf(opened.database, card.publicToken)).length, before)
  })

  test('after an unblock the next block is told again', async () => {
    for (const round of [1, 2]) {
      for (let tries = 0; tries < 4; tries += 1) await ask(opened.service, wrongPin())
      await opened.service.call('POST', `/card-pin/${card.publicToken}/pin/unblock`)
      const types = await typesOf(opened.database, card.publicToken)
      assert.equal(types.filter((type) => type === 'pin.blocked').length, round)
      assert.deepEqual(types.slice(-3), ['pin.attempt_failed', 'pin.blocked', 'pin.unblocked'])
    }
  })

  test('cards of one network at once keep a sequence each, without gaps', async () => {
    const cards = await Promise.all(Array.from({ length: 5 }, () => issueCard(opened.service)))
    await Promise.all(
      cards.flatMap((each) =>
        Array.from({ length: 4 }, (_, index) =>
          Promise.all([
            ask(
              opened.services[index % 2 === 0 ? 0 : 1],
              pinTry(opened.service, each, otherDigits(each.pin)),
            ),
            ask(opened.services[index % 2 === 0 ? 1 : 0], cvvTry(each, otherDigits(each.cvv2))),
          ]),
        ),
      ),
    )
    for (const { publicToken } of cards) {
      const types = await typesOf(opened.database, publicToken)
      for (const kind of ['pin', 'cvv']) {
        assert.equal(types.filter((type) => type === `${kind}.attempt_failed`).length, 3)
        assert.equal(types.filter((type) => type === `${kind}.blocked`).length, 1)
      }
    }
  })

  /** Two wrong tries that were settled, and a last one whose process does not answer. */
  const loseTheLastTry = async () => {
    await ask(opened.service, wrongPin())
    await ask(opened.service, wrongPin())
    const gate = delayComparisons(hsm)
    const lost = ask(opened.service, wrongPin())
    await gate.arrived(1)
    return { gate, lost }
  }

  const blocksReported = async (): Promise<number> =>
    (await typesOf(opened.database, card.publicToken)).filter((type) => type === 'pin.blocked')
      .length

  test('a block whose process was lost is told after 30 seconds, once, however many sweep', async () => {
    const { gate, lost } = await loseTheLastTry()
    const sweepBoth = () =>
      Promise.all(
        opened.services.flatMap(({ database }) => [
          recordLostBlocks({ database }),
          recordLostBlocks({ database }),
        ]),
      )
    await sweepBoth()
    assert.equal(await blocksReported(), 0, 'not before')
    await ageWhatWasLost(opened.database)
    await sweepBoth()
    assert.equal(await blocksReported(), 1)
    assert.deepEqual(await lastEvents(1), [{ type: 'pin.blocked', blockedBy: 'tries' }])
    gate.release(0)
    await lost
    await sweepBoth()
    assert.equal(await blocksReported(), 1, 'and not by the one that was taken for lost')
  })

  test('a lost block that was undone before the sweep came is not told', async () => {
    const { gate, lost } = await loseTheLastTry()
    await ageWhatWasLost(opened.database)
    await opened.service.call('POST', `/card-pin/${card.publicToken}/pin/unblock`)
    await recordLostBlocks({ database: opened.database })
    assert.equal(await blocksReported(), 0)
    gate.release(0)
    await lost
  })

  test('however many blocks were lost, all are told in one sweep, also beside some that cannot be', async () => {
    const lost = 130
    const { database } = opened
    const tokens = `(3000000000 + n)::text`
    const copies = `generate_series(1, ${lost}) as n where public_token = $1`
    await sql(
      database,
      `insert into card (public_token, client_id, product_id, card_type, masked_pan, encrypted_pan,
         personal_data, start_date, expiry_date, line_token, status_code, pin_block, pvv, pin_key,
         cvk)
       select ${tokens}, client_id, product_id, card_type, masked_pan, encrypted_pan,
         personal_data, start_date, expiry_date, ${tokens}, status_code, pin_block, pvv, pin_key,
         cvk
       from card, ${copies}`,
      [card.publicToken],
    )
    await sql(
      database,
      `insert into try_counter (public_token, kind, try_limit, spent)
       select ${tokens}, kind, 3, 3 from try_counter, ${copies}`,
      [card.publicToken],
    )
    // No event of theirs can be written.
    const broken = ['3000000001', '3000000050']
    await database.script(
      `alter table event add constraint closed check (public_token not in ('${broken.join("', '")}')) not valid`,
    )
    const sweeping = recordLostBlocks({ database })
    await assert.rejects(sweeping, ({ errors }: AggregateError) => errors.length === 4)
    const told = await sql<{ count: number }>(
      database,
      `select count(*)::integer as count from event
       where public_token between '3000000001' and '3000000999'
         and type in ('pin.blocked', 'cvv.blocked')`,
    )
    assert.equal(told[0]?.count, 2 * (lost - broken.length))
    await database.script('alter table event drop constraint closed')
    await recordLostBlocks({ database })
  })

  if (engine.name === 'PostgreSQL') {
    test('a result that cannot be put on record is 503: the try stays spent, and nothing is told of it', async () => {
      const before = await typesOf(opened.database, card.publicToken)
      const answer = await opened.database.transaction(async (holder) => {
        // Held elsewhere for longer than a request waits: spent in time, and not settled.
        await sql(holder, 'select from card where public_token = $1 for no key update', [
          card.publicToken,
        ])
        return ask(opened.services[1], wrongPin())
      })
      assert.deepEqual([answer.status, answer.json.code], [503, 'unavailable'])
      assert.ok(Number(answer.headers['retry-after']) >= 1)
      const [attempt] = await attemptsOf(opened.database, card.publicToken)
      assert.deepEqual([attempt?.result, attempt?.restored], ['unresolved', false])
      assert.equal((await counterOf(opened.database, card.publicToken)).remaining, 2)
      assert.deepEqual(await typesOf(opened.database, card.publicToken), before)
    })
  }
})
