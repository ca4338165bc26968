import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, beforeEach, suite, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { followKeys } from '../../../src/operations/keys/rotate.ts'
import type { Database } from '../../../src/storage/engine/database.ts'
import { blockPin } from '../../support/builders.ts'
import {
  ask,
  cvvTry,
  type IssuedCard,
  issueCard,
  otherDigits,
  pinTry,
} from '../../support/network.ts'
import { openPostgres } from '../../support/postgres.ts'
import {
  openServerDatabase,
  openTestDatabase,
  openTestService,
  sql,
  strongPins,
  type TestService,
} from '../../support/service.ts'
import { counterOf } from './tried.ts'

/** A database that says what was sent to it. */
const watched = (database: Database) => {
  const sent: string[] = []
  const watching: Database = {
    ...database,
    query: (statement, values) => {
      sent.push(statement.name)
      return database.query(statement, values)
    },
    readRow: (read, key) => {
      sent.push(read.one.name)
      return database.readRow(read, key)
    },
    change: (change, subject, values) => {
      sent.push(change.one.name)
      return database.change(change, subject, values)
    },
    transaction: (work) => {
      sent.push('transaction')
      return database.transaction(work)
    },
  }
  return { database: watching, sent }
}

suite('round trips of an authorization', () => {
  let service: TestService
  let card: IssuedCard
  let sent: string[]
  let database: Database
  before(async () => {
    const watch = watched(await openTestDatabase())
    database = watch.database
    sent = watch.sent
    service = await openTestService({ database, env: { RATE_LIMIT: 'off' } })
  })
  beforeEach(async () => {
    card = await issueCard(service)
    await ask(service, pinTry(service, card))
  })

  const sentFor = async (question: object, key: string | null): Promise<string[]> => {
    sent.length = 0
    await ask(service, question, { headers: key === null ? {} : { 'idempotency-key': key } })
    return [...sent]
  }

  test('with a PAN and a PIN it is two statements, and a repeat is two and does nothing', async () => {
    const byPan = (pin = card.pin) => {
      const { publicToken: _, ...asked } = { publicToken: '', ...pinTry(service, card, pin) }
      return { ...asked, pan: card.pan, reference: 'R-1' }
    }
    // On a cluster the card may lie on another node than its PAN.
    const named = database.isCluster() ? ['find_token_by_pan'] : []
    const two = [...named, 'begin_authorization', 'settle_authorization']
    assert.deepEqual(await sentFor(byPan(), null), two)
    assert.deepEqual(await sentFor(byPan(), randomUUID()), two)
    const key = randomUUID()
    const wrong = byPan(otherDigits(card.pin))
    assert.deepEqual(await sentFor(wrong, key), two)
    assert.deepEqual(await sentFor(wrong, key), [
      ...[...named, 'begin_authorization', 'find_idempotency_record'],
    ])
  })

  test('a card that is named by its token is read once more, for its PIN block to be deciphered', async () => {
    assert.deepEqual(await sentFor(pinTry(service, card), null), [
      ...['find_card_reference', 'begin_authorization', 'settle_authorization'],
    ])
    assert.deepEqual(await sentFor(cvvTry(card), null), [
      ...['begin_authorization', 'settle_authorization'],
    ])
  })

  test('a CVV2 after a PIN takes one more; a request that spends no try takes two', async () => {
    const both = { ...pinTry(service, card), ...cvvTry(card) }
    assert.deepEqual(await sentFor(both, randomUUID()), [
      ...['find_card_reference', 'begin_authorization', 'settle_match_and_spend'],
      'settle_authorization',
    ])
    const plain = { publicToken: card.publicToken }
    const unspent = ['begin_authorization', 'answer_authorization']
    assert.deepEqual(await sentFor(plain, null), unspent)
    assert.deepEqual(await sentFor(plain, randomUUID()), unspent)
    await blockPin(service, card)
    assert.deepEqual(await sentFor(both, null), ['find_card_reference', ...unspent])
    const unknown = { publicToken: '9999999999' }
    assert.deepEqual(await sentFor(unknown, null), ['begin_authorization'])
    assert.deepEqual(await sentFor(unknown, randomUUID()), [
      ...['begin_authorization', 'answer_unknown_card'],
    ])
    const late = { publicToken: card.publicToken, expiryDate: '2099-01' }
    assert.deepEqual(await sentFor(late, null), unspent)
  })

  test('while the key of keyed hashes is being replaced a question still spends and answers once', async () => {
    await service.call('POST', '//keys/request-fingerprint/rotate', {
      as: 'admin',
      listener: 'private',
    })
    await followKeys(service.keys)
    const wrong = { ...pinTry(service, card, otherDigits(card.pin)), reference: 'R-1' }
    const unknown = { publicToken: '9999999999', entryMode: 'chip', reference: 'R-1' }
    for (const question of [wrong, unknown]) {
      const headers = { 'idempotency-key': randomUUID() }
      const first = await ask(service, question, { headers })
      const repeat = await ask(service, question, { headers })
      assert.equal(first.headers['idempotency-replayed'], undefined)
      assert.deepEqual(
        [repeat.status, repeat.text, repeat.headers['idempotency-replayed']],
        [200, first.text, 'true'],
      )
    }
    assert.ok(sent.includes('store_answer'))
    assert.equal((await counterOf(service.database, card.publicToken)).remaining, 2)
  })
})

const postgres = await openPostgres()

suite('on a PostgreSQL server', { skip: postgres.leftOut }, () => {
  let service: TestService
  let card: IssuedCard
  before(async () => {
    const { database } = await openServerDatabase(postgres)
    service = await openTestService({ database, env: { RATE_LIMIT: 'off' } })
  })
  beforeEach(async () => {
    card = await issueCard(service)
  })

  test('a keyed question that waited too long for the counter is 503, and its key is free', async () => {
    const headers = { 'idempotency-key': randomUUID() }
    const question = { ...pinTry(service, card), reference: 'R-1' }
    const answer = await service.database.transaction(async (connection) => {
      await sql(connection, 'select from try_counter where public_token = $1 for update', [
        card.publicToken,
      ])
      return ask(service, question, { headers })
    })
    assert.deepEqual([answer.status, answer.json.code], [503, 'unavailable'])
    assert.equal((await ask(service, question, { headers })).json.approved, true)
    assert.equal((await counterOf(service.database, card.publicToken)).spent, 1)
  })

  test('200 wrong PINs a second keep no cardholder from changing the PIN', async () => {
    let isUnderAttack = true
    const answers: Promise<{ status: number }>[] = []
    const attack = async (): Promise<void> => {
      while (isUnderAttack) {
        answers.push(ask(service, pinTry(service, card, otherDigits(card.pin))))
        // Unblocked all the time, so that each wrong PIN is compared, and moves the card.
        if (answers.length % 3 === 0) {
          await sql(
            service.database,
            `update try_counter set restored = spent, epoch = epoch + 1, block_reported = false
             where public_token = $1`,
            [card.publicToken],
          )
        }
        await wait(5)
      }
    }
    const attacking = attack()
    const { json } = await service.call('GET', `/cards/${card.publicToken}`)
    const pins = strongPins(json)
    const changes = []
    for (let time = 0; time < 8 || answers.length < 100; time += 1) {
      const body = { pin: pins[time % pins.length] }
      const path = `/card-pin/${card.publicToken}/pin`
      changes.push((await service.call('POST', path, { body })).status)
      await wait(100)
    }
    isUnderAttack = false
    await attacking
    assert.deepEqual(new Set(changes), new Set([204]))
    assert.deepEqual(
      new Set((await Promise.all(answers)).map(({ status }) => status)),
      new Set([200]),
    )
  })
})
