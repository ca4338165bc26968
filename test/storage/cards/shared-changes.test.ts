import assert from 'node:assert/strict'
import { createHash, randomUUID } from 'node:crypto'
import { before, suite, test } from 'node:test'
import type { PublicToken } from '../../../src/domain/identifiers.ts'
import type { CardAct } from '../../../src/storage/cards/card-act.ts'
import * as changes from '../../../src/storage/cards/changes.ts'
import { insertCard, type NewCardRow } from '../../../src/storage/cards/create-card.ts'
import { recordDisclosure } from '../../../src/storage/cards/disclosures.ts'
import type { Database } from '../../../src/storage/engine/database.ts'
import type { Claim } from '../../../src/storage/idempotency/idempotency.ts'
import { databaseEngines } from '../../support/engines.ts'
import { parsePublicToken } from '../../support/identifiers.ts'
import { openPostgres } from '../../support/postgres.ts'
import { openServerDatabase, sql } from '../../support/service.ts'

const postgres = await openPostgres()

const clientId = 'client-1'
const today = '2026-06-01'
const hashOf = (text: string): Buffer => createHash('sha256').update(text).digest()
const limit = { limitName: 'unblock-pin', purpose: 'unblocks', uses: 1, windowSeconds: 86_400 }
const newPin = { pinBlock: null, pvv: '9999', pinKey: 'pvk/2', chipPin: null, envelope: null }
const chipPin = { pinBlock: Buffer.from('chip PIN'), pinKey: 'pin-storage/1' }
const envelope = { jtiHash: hashOf('envelope'), expiresAt: new Date('2030-01-01') }

/** Every change of a card that may share a statement with that of another. */
const acts: Readonly<Record<string, (database: Database, act: CardAct) => Promise<boolean>>> = {
  'a status': (database, act) => changes.updateCardStatus(database, act, { from: '00', to: '62' }),
  'a PIN': (database, act) => changes.updatePin(database, act, today, newPin),
  'a PIN of an envelope': (database, act) =>
    changes.updatePin(database, act, today, { ...newPin, envelope }),
  'a PIN for a chip, too': (database, act) =>
    changes.updatePin(database, act, today, { ...newPin, chipPin }),
  unblocking: (database, act) =>
    changes.restoreTries(database, act, { kind: 'pin', limit: null, today }),
  'unblocking within a limit': (database, act) =>
    changes.restoreTries(database, act, { kind: 'pin', limit, today }),
  blocking: (database, act) => changes.spendAllTries(database, act, 'cvv', today),
}

/** What puts a card on show, which has no key. */
const disclosures: typeof acts = Object.fromEntries(
  [null, { perCard: { ...limit, uses: 3 }, perClient: { ...limit, uses: 1_000 } }].map((limits) => [
    limits ? 'a disclosure within limits' : 'a disclosure',
    async (database, { clientId, event }) => {
      const terms = { clientId, today, includesPin: false, eventId: randomUUID(), limits }
      return (await recordDisclosure(database, event, terms)) !== null
    },
  ]),
)

/** What a card may be when it is to be changed, by what makes it so; `$1` is its token. */
const cards: Readonly<Record<string, string>> = {
  'an open one': 'select $1::text',
  'one without tries':
    'update try_counter set spent = try_limit, block_reported = true where public_token = $1',
  'a frozen one': `update card set status_code = '62' where public_token = $1`,
  'a closed one': `update card set status_code = '83' where public_token = $1`,
  'an expired one': `update card set expiry_date = '2026-05-31' where public_token = $1`,
  'that of another client': `update card set client_id = 'client-2' where public_token = $1`,
  'one whose limit is used up': `insert into card_limit (public_token, limit_name, last_uses, newest_uses, forget_on_day)
    values ($1, 'unblock-pin', array[(extract(epoch from clock_timestamp()) * 1000000)::bigint], 1, 99999)`,
  'one that had the envelope': `insert into pin_envelope values ($1, sha256('envelope'), '2030-01-01')`,
  'one whose key was used': `insert into idempotency_record (client_id, key_hash, request_fingerprint)
    values ('client-1', sha256(convert_to('key of ' || $1, 'UTF8')), 'another')`,
  'one whose key was used long ago': `insert into idempotency_record (client_id, key_hash, request_fingerprint, created_at)
    values ('client-1', sha256(convert_to('key of ' || $1, 'UTF8')), 'another', now() - interval '25 hours')`,
  'one whose key is known under one of two hashes': `insert into idempotency_record (client_id, key_hash, request_fingerprint)
    values ('client-1', sha256(convert_to('newer key of ' || $1, 'UTF8')), 'another')`,
  'none at all': `with counters as (delete from try_counter where public_token = $1),
      plastics as (delete from plastic where public_token = $1),
      events as (delete from event where public_token = $1)
    delete from card where public_token = $1`,
  'one with a chip': `update card set card_type = 'Physical' where public_token = $1`,
  'one whose chip waits for commands': `with chipped as (
      update card set card_type = 'Physical', last_sequence = 3 where public_token = $1
      returning public_token
    )
    insert into chip_command (public_token, command_number, command, pin_block, pin_key)
    select public_token, command_number, command, pin_block, pin_key
    from chipped, (values (1, 'unblock_pin', null, null), (2, 'put_data', null, null),
      (3, 'change_pin', '\\x00'::bytea, 'pin-storage/1')
    ) as waiting (command_number, command, pin_block, pin_key)`,
  'another open one': 'select $1::text',
}

let tokens = 0
const nextToken = (): PublicToken => {
  tokens += 1
  return parsePublicToken(String(5_000_000_000 + tokens))
}

const claimOf = (publicToken: string): Claim => ({
  clientId,
  keyHashes: [hashOf(`newer key of ${publicToken}`), hashOf(`key of ${publicToken}`)],
  requestFingerprint: hashOf('request'),
  claimId: randomUUID(),
  answer: Buffer.from('answer'),
})

const eventOf = (publicToken: PublicToken) => ({
  publicToken,
  type: 'pin.set' as const,
  requestId: 'request-1',
  details: { a: 1 },
  note: Buffer.from('note'),
})

const productVersion = randomUUID()

const newCard: NewCardRow = {
  clientId,
  productId: 1 as NewCardRow['productId'],
  cardType: 'Virtual',
  customerReference: null,
  designId: null,
  maskedPan: '400000******0000',
  encryptedPan: Buffer.from('pan'),
  personalData: Buffer.from('data'),
  startDate: '2026-01-01',
  expiryDate: '2030-01-31',
  statusCode: '00',
  pinBlock: null,
  pvv: '1234',
  pinKey: 'pvk/1',
  cvk: 'cvk/1',
  pinTryLimit: 3,
  cvvTryLimit: 2,
}

const creationOf = (publicToken: PublicToken, isKeyed: boolean) => ({
  card: newCard,
  event: eventOf(publicToken),
  panFingerprints: [1, 2].map((keyVersion) => ({
    fingerprint: hashOf(`PAN ${keyVersion} of ${publicToken}`),
    keyVersion,
  })),
  productVersion,
  claim: isKeyed ? claimOf(publicToken) : null,
})

/** All that is there of a card, without what differs between any two. */
const stateOf = async (database: Database, publicToken: PublicToken) => {
  const keys = [hashOf(`key of ${publicToken}`), hashOf(`newer key of ${publicToken}`)]
  const rows = (text: string, values: readonly unknown[] = [publicToken]) =>
    sql<object>(database, text, values as never)
  return {
    card: await rows(
      'select client_id, status_code, pvv, last_sequence from card where public_token = $1',
    ),
    tries: await rows(
      `select kind, spent, restored, epoch, is_withdrawn, block_reported from try_counter
       where public_token = $1 order by kind`,
    ),
    events: await rows(
      `select sequence, client_id, type, request_id, details, encode(note, 'hex') as note from event
       where public_token = $1 order by sequence`,
    ),
    chipCommands: await rows(
      `select command_number, command, state, encode(pin_block, 'hex') as pin, pin_key,
         ended_at is null as is_waiting
       from chip_command where public_token = $1 order by command_number`,
    ),
    limits: await rows(
      `select limit_name, newest_uses, cardinality(last_uses) as instants from card_limit
       where public_token = $1`,
    ),
    envelopes: await rows(
      "select encode(jti_hash, 'hex') as hash from pin_envelope where public_token = $1",
    ),
    numbers: await rows(
      'select key_version from pan_fingerprint where public_token = $1 order by 1',
    ),
    keys: await rows(
      `select encode(answer, 'hex') as answer, encode(request_fingerprint, 'hex') as request
       from idempotency_record where encode(key_hash, 'hex') in ($1, $2) order by 1, 2`,
      keys.map((key) => key.toString('hex')),
    ),
  }
}

/** Puts changes of one card into one statement: each has a subject of its own. */
const withoutSubjects = (database: Database): Database => ({
  ...database,
  change: (shared, _, values) => database.change(shared, randomUUID(), values),
})

async function inOrder<Result>(
  acted: 'together' | 'one by one',
  acts: readonly (() => Promise<Result>)[],
): Promise<Result[]> {
  if (acted === 'together') return Promise.all(acts.map((act) => act()))
  const results = []
  for (const act of acts) results.push(await act())
  return results
}

const isClaimed = async (database: Database, { keyHashes }: Claim): Promise<boolean> => {
  const text = 'select from idempotency_record where key_hash = $1'
  return (await sql(database, text, [keyHashes[0]])).length > 0
}

/** The product that cards are made of, granted to the client. */
async function addProduct(database: Database): Promise<void> {
  await sql(
    database,
    `with client as (
       insert into client (client_id, client_name, kind, scopes)
       values ('client-1', 'Client', 'client', '{}') returning client_id
     ), product as (
       insert into product (product_id, product_name, scheme_name, bin, currency_code, card_types,
         validity_months, pin_length, pin_revealable, pin_try_limit, cvv_try_limit, chip)
       values (1, 'Product', 'Visa', '400000', 'EUR', array['Virtual'], 48, 4, false, 3, 3,
         '{"profile": "cpa"}')
       returning product_id
     )
     insert into client_product (client_id, product_id, product_version)
     select client_id, product_id, $1 from client, product`,
    [productVersion],
  )
}

for (const { name, open, skip } of databaseEngines) {
  suite(`changes of many cards in one turn of the event loop, on ${name}`, { skip }, () => {
    let database: Database
    before(async () => {
      database = await open()
      await addProduct(database)
    })

    const makeCard = async (change: string): Promise<PublicToken> => {
      const publicToken = nextToken()
      assert.ok(await insertCard(database, creationOf(publicToken, false)))
      await sql(database, change, [publicToken])
      return publicToken
    }

    /**
     * Does the same to two lots that are alike, to one of them all at once, and compares what is
     * left of each.
     */
    async function compare(
      lots: readonly (readonly [PublicToken, PublicToken])[],
      names: readonly string[],
      act: (publicToken: PublicToken) => Promise<boolean>,
    ): Promise<readonly boolean[]> {
      const together = await Promise.all(lots.map(([publicToken]) => act(publicToken)))
      for (const [at, [shared, alone]] of lots.entries()) {
        assert.equal(together[at], await act(alone), names[at])
        assert.deepEqual(await stateOf(database, shared), await stateOf(database, alone), names[at])
      }
      return together
    }

    for (const [what, change] of Object.entries({ ...acts, ...disclosures })) {
      for (const isKeyed of what in acts ? [false, true] : [false]) {
        test(`${what}${isKeyed ? ' under a key' : ''}: each comes to what it comes to alone`, async () => {
          const lots = []
          for (const prepare of Object.values(cards)) {
            lots.push([await makeCard(prepare), await makeCard(prepare)] as const)
          }
          const done = await compare(lots, Object.keys(cards), (publicToken) => {
            const claim = isKeyed ? claimOf(publicToken) : null
            return change(database, { clientId, event: eventOf(publicToken), claim })
          })
          assert.deepEqual([done[0], done.at(-1)], [true, true])
          assert.ok(done.includes(false))
        })
      }

      test(`${what}, twice for one card in one statement, comes to what it comes to one by one`, async () => {
        const twice = async (connected: Database, acted: 'together' | 'one by one') => {
          const publicToken = await makeCard('select $1::text')
          const attempts = ['one', 'other'].map((name) => {
            const claim = claimOf(`${name} ${what} ${publicToken}`)
            const attempt = () =>
              change(connected, { clientId, event: eventOf(publicToken), claim })
            return { claim, attempt }
          })
          const done = await inOrder(
            acted,
            attempts.map(({ attempt }) => attempt),
          )
          const claimed = await Promise.all(attempts.map(({ claim }) => isClaimed(database, claim)))
          const outcomes = done.map((isDone, at) => ({ isDone, isClaimed: claimed[at] }))
          // Of two that are left out, either is the first.
          outcomes.sort((one, other) => Number(other.isDone) - Number(one.isDone))
          return { outcomes, state: await stateOf(database, publicToken) }
        }
        const together = await twice(withoutSubjects(database), 'together')
        assert.deepEqual(together, await twice(database, 'one by one'))
      })
    }

    /** What may be in the way of a new card; `$1` is its token. */
    const obstacles: Readonly<Record<string, string>> = {
      nothing: 'select $1::text',
      'its PAN is taken': `insert into pan_fingerprint (pan_fingerprint, public_token)
        values (sha256(convert_to('PAN 2 of ' || $1, 'UTF8')), 'another')`,
      'its token is taken': `insert into card (public_token, client_id, product_id, card_type, masked_pan, encrypted_pan,
          personal_data, start_date, expiry_date, line_token, status_code, pvv, pin_key, cvk)
        values ($1, 'client-2', 1, 'Virtual', '400000******0000', '', '', '2026-01-01', '2030-01-31', $1, '00',
          '1234', 'pvk/1', 'cvk/1')`,
      'its key was used': cards['one whose key was used'] ?? '',
      'its key was used long ago': cards['one whose key was used long ago'] ?? '',
      'its key is known under one of two hashes':
        cards['one whose key is known under one of two hashes'] ?? '',
      'nothing either': 'select $1::text',
    }

    for (const isKeyed of [false, true]) {
      test(`a creation${isKeyed ? ' under a key' : ''} comes to what it comes to alone`, async () => {
        const lots = []
        for (const prepare of Object.values(obstacles)) {
          const lot = [nextToken(), nextToken()] as const
          for (const publicToken of lot) await sql(database, prepare, [publicToken])
          lots.push(lot)
        }
        const done = await compare(lots, Object.keys(obstacles), (publicToken) =>
          insertCard(database, creationOf(publicToken, isKeyed)),
        )
        const whereKeyed = !isKeyed
        assert.deepEqual(done, [true, false, false, whereKeyed, true, whereKeyed, true])
      })
    }

    test('a product that changed meanwhile makes no card, and its neighbours’ are made', async () => {
      const stale = { ...creationOf(nextToken(), true), productVersion: randomUUID() }
      const others = [creationOf(nextToken(), true), creationOf(nextToken(), true)]
      const made = await Promise.all(
        [others[0], stale, others[1]].map((each) => each && insertCard(database, each)),
      )
      assert.deepEqual(made, [true, false, true])
      const { card, keys } = await stateOf(database, stale.event.publicToken)
      assert.deepEqual([card, keys], [[], []])
    })

    test('of a client’s disclosures in one turn no more are done than its limit has left', async () => {
      const lot = []
      for (let each = 1; each <= 12; each += 1) lot.push(await makeCard('select $1::text'))
      const perClient = { ...limit, limitName: 'few', uses: 7 }
      const limits = { perCard: { ...limit, limitName: 'few', uses: 1 }, perClient }
      const shown = await Promise.all(
        lot.map((publicToken) => {
          const terms = { clientId, today, includesPin: false, eventId: randomUUID(), limits }
          return recordDisclosure(database, eventOf(publicToken), terms)
        }),
      )
      assert.equal(shown.filter((card) => card !== null).length, 7)
      const counts = await Promise.all(
        lot.map(async (publicToken) => (await stateOf(database, publicToken)).events.length),
      )
      assert.deepEqual(
        counts,
        shown.map((card) => (card ? 2 : 1)),
      )
    })

    test('one key for two cards in one turn changes one of them', async () => {
      const lot = [await makeCard('select $1::text'), await makeCard('select $1::text')]
      const claim = claimOf('both')
      const done = await Promise.all(
        lot.map((publicToken) =>
          changes.updatePin(
            database,
            { clientId, event: eventOf(publicToken), claim: { ...claim, claimId: randomUUID() } },
            today,
            newPin,
          ),
        ),
      )
      assert.deepEqual(done.toSorted(), [false, true])
      const counts = await Promise.all(
        lot.map(async (publicToken) => (await stateOf(database, publicToken)).events.length),
      )
      assert.deepEqual(counts.toSorted(), [1, 2])
    })
  })
}

suite('changes in one turn, on a PostgreSQL server', { skip: postgres.leftOut }, () => {
  test('a card that another has locked keeps only its own change waiting', async () => {
    const { database } = await openServerDatabase(postgres)
    await addProduct(database)
    const lot = Array.from({ length: 5 }, nextToken)
    for (const publicToken of lot) {
      assert.ok(await insertCard(database, creationOf(publicToken, false)))
    }
    const change = (publicToken: PublicToken) => {
      const act = { clientId, event: eventOf(publicToken), claim: claimOf(publicToken) }
      return changes.updatePin(database, act, today, newPin)
    }
    const [locked = nextToken(), ...others] = lot
    let isLockedChanged = false
    const late = await database.transaction(async (connection) => {
      const text = 'select from card where public_token = $1 for no key update'
      await connection.query({ name: 'lock_card', text }, [locked])
      const late = change(locked).then((isDone) => {
        isLockedChanged = true
        return isDone
      })
      assert.deepEqual(await Promise.all(others.map(change)), [true, true, true, true])
      assert.equal(isLockedChanged, false)
      return { late }
    })
    assert.equal(await late.late, true)
  })

  // A cluster records each disclosure by a call of its own.
  test('disclosures use the limits of a client in one order, whatever the order of the callers', {
    skip: postgres.isCluster,
  }, async () => {
    const { database } = await openServerDatabase(postgres)
    await addProduct(database)
    const lot = Array.from({ length: 2 }, nextToken)
    for (const publicToken of lot) {
      assert.ok(await insertCard(database, creationOf(publicToken, false)))
    }
    const disclose = (names: readonly string[]) =>
      Promise.all(
        names.map((limitName, at) => {
          const perCard = { ...limit, uses: 9 }
          const limits = { perCard, perClient: { ...perCard, limitName } }
          const terms = { clientId, today, includesPin: false, eventId: randomUUID(), limits }
          return recordDisclosure(database, eventOf(lot[at] ?? nextToken()), terms)
        }),
      )
    await disclose(['a', 'b'])
    const later = await database.transaction(async (connection) => {
      const lockLimit = (limitName: string, wait = '') =>
        sql(
          connection,
          `select from client_limit where limit_name = $1 for no key update ${wait}`,
          [limitName],
        )
      await lockLimit('a')
      const disclosed = disclose(['b', 'a'])
      while (!(await isWaited(database)));
      await lockLimit('b', 'nowait')
      return { disclosed }
    })
    assert.ok((await later.disclosed).every((card) => card !== null))
  })
})

const isWaited = async (database: Database): Promise<boolean> => {
  const waiting = `select from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`
  return (await sql(database, waiting)).length > 0
}
