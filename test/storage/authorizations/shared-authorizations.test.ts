import assert from 'node:assert/strict'
import { createHash, randomUUID } from 'node:crypto'
import { before, suite, test } from 'node:test'
import type { PublicToken } from '../../../src/domain/identifiers.ts'
import {
  type Beginning,
  beginAuthorization,
  type NamedCard,
} from '../../../src/storage/authorizations/begin.ts'
import {
  answerAuthorization,
  type Comparison,
  settleAuthorization,
} from '../../../src/storage/authorizations/settle.ts'
import type { Connection, Database } from '../../../src/storage/engine/database.ts'
import { newEventId } from '../../../src/storage/events/events.ts'
import type { Claim } from '../../../src/storage/idempotency/idempotency.ts'
import { recordPaymentMessage } from '../../../src/storage/payments/messages.ts'
import { databaseEngines } from '../../support/engines.ts'
import { parsePublicToken } from '../../support/identifiers.ts'
import { sql } from '../../support/service.ts'
import { bakery } from './transaction.ts'

const networkId = 'network-1'
const origin = {
  networkId,
  requestId: 'request-1',
  reference: 'R-1',
  entryMode: 'chip',
  transaction: bakery,
}
const zoneKey = { keyName: 'zone-1', keyBlock: 'block-1' }
const hash = (text: string): Buffer => createHash('sha256').update(text).digest()
const answer = Buffer.from('answer')

/** Records that a chip used counters; bit n stands for the counter that is lower by n. */
function useCounters(highest: number, seen: number): string {
  return `insert into chip (public_token, pan_sequence_number, highest_atc, seen_atcs, key_version)
    values ($1, '00', ${highest}, ${seen}, 1)`
}

/** The use of a chip, as a request brings it. */
const chip = JSON.stringify({
  panSequenceNumber: '00',
  atc: 7,
  contactAtc: 7,
  keyVersion: 2,
  atcWindow: 16,
  remainingOfflineTries: 3,
})

/** What a card may be like when an authorization begins; `$1` is its token. */
const cards: Readonly<Record<string, string>> = {
  'an active one': 'select $1::text',
  'a frozen one': `update card set status_code = '62' where public_token = $1`,
  'an expired one': `update card set expiry_date = '2026-05-31' where public_token = $1`,
  'one without tries': 'update try_counter set spent = try_limit where public_token = $1',
  'one with an outstanding try': `update try_counter set spent = 1, outstanding_tries = '{1}', open_since = '{0}'
    where public_token = $1`,
  'one whose outstanding tries were restored': `update try_counter
    set spent = 2, restored = 2, outstanding_tries = '{1,2}', open_since = '{0,0}' where public_token = $1`,
  'one whose key was used': `insert into idempotency_record (client_id, key_hash, request_fingerprint)
    values ('network-1', sha256(convert_to('key of ' || $1, 'UTF8')), 'another')`,
  'one whose key was used long ago': `insert into idempotency_record (client_id, key_hash, request_fingerprint, created_at)
    values ('network-1', sha256(convert_to('key of ' || $1, 'UTF8')), 'another', now() - interval '25 hours')`,
  'one whose reversal was first': `insert into network_transaction (network_id, transaction_hash, reversed_at)
    values ('network-1', sha256(convert_to('transaction of ' || $1, 'UTF8')), now())`,
  'one whose chip used the counter': useCounters(7, 1),
  'one whose chip used a higher counter': useCounters(9, 1),
  'one whose chip used a counter far above': useCounters(30, 1),
  'one whose chip used other counters': useCounters(6, 5),
  'none at all': `with counters as (delete from try_counter where public_token = $1),
      plastics as (delete from plastic where public_token = $1)
    delete from card where public_token = $1`,
  'another active one': 'select $1::text',
}

/** What an authorization may ask of each of them. */
const requests = {
  'by PAN': {},
  'by token': { isByToken: true },
  'under a key': { isKeyed: true },
  'with the right expiry': { expiryMonth: '2030-01' },
  'with a wrong expiry': { expiryMonth: '2030-02' },
  'with a zone key': { zoneKey },
  'with a zone key that was replaced': { zoneKey: { ...zoneKey, keyBlock: 'older' } },
  'with nothing to compare': { kind: null },
  'for the CVV2': { kind: 'cvv' },
  'with a chip': { chip },
  'with a chip under a key': { chip, isKeyed: true },
  'with a chip and a wrong expiry': { chip, expiryMonth: '2030-02' },
  'with a chip and nothing to compare': { chip, kind: null },
} as const

type Request = {
  readonly isByToken?: boolean
  readonly isKeyed?: boolean
  readonly expiryMonth?: string
  readonly zoneKey?: typeof zoneKey | { readonly keyName: string; readonly keyBlock: string }
  readonly kind?: 'cvv' | null
  readonly chip?: string
}

/** What the counter of a try may have become when it is settled; `$1` is its token. */
const counters: Readonly<Record<string, string>> = {
  'its own alone': 'select $1::text',
  'an earlier one, known not to match': `update try_counter set spent = 2, outstanding_tries = '{0,1}',
    open_since = array[0, open_since[1]] where public_token = $1 and kind = 'pin'`,
  'a later one': `update try_counter set spent = 2, outstanding_tries = '{1,2}',
    open_since = array[open_since[1], open_since[1]] where public_token = $1 and kind = 'pin'`,
  'none of this epoch': `update try_counter set restored = spent, epoch = 2 where public_token = $1`,
  'the last, of a block that was reported': `update try_counter set spent = 3, outstanding_tries = '{1,2,3}',
    open_since = array[open_since[1], 0, 0], block_reported = true where public_token = $1 and kind = 'pin'`,
  'the last': `update try_counter set spent = 3, outstanding_tries = '{1,2,3}',
    open_since = array[open_since[1], 0, 0] where public_token = $1 and kind = 'pin'`,
  'its own, answered by a repeat': `update idempotency_record set answer = 'first'
    where key_hash = sha256(convert_to('key of ' || $1, 'UTF8'))`,
  'its own, whose key was forgotten': `delete from idempotency_record
    where key_hash = sha256(convert_to('key of ' || $1, 'UTF8'))`,
  'its own, and another card’s': 'select $1::text',
}

const declined = {
  ...origin,
  clientId: 'client-1',
  responseCode: '54',
  checks: '[]',
  durationMs: 1,
  now: new Date('2026-06-01T12:00:00Z'),
  eventType: 'authorization.declined',
  details: '{"responseCode":"54"}',
  hold: null,
  increment: null,
  spending: null,
} as const

const approved = {
  ...declined,
  responseCode: '00',
  eventType: 'authorization.approved',
  details: '{"responseCode":"00"}',
  hold: { amount: 1234, currency: 'EUR', expiresAt: new Date('2026-06-08T12:00:00Z') },
} as const

const today = '2026-06-01'
const dayOf = (amount: number, count: number) => ({ day: { startsOn: today, amount, count } })

/** An approval under a limit of 2,000 a day, foreseen for a card that has spent 500. */
const limited = {
  ...approved,
  checks: '[{"check":"limits","result":"passed"}]',
  spending: JSON.stringify({
    productVersion: 0,
    cardVersion: 1,
    amount: 1234,
    count: 1,
    basis: 'cleared',
    limits: [
      {
        owner: 'card',
        control: 'limits.day',
        isShadow: false,
        window: 'day',
        startsOn: today,
        maximumAmount: 2_000,
        maximumCount: null,
      },
    ],
    lockTo: null,
    lockedBy: null,
    foreseen: {
      before: dayOf(500, 1),
      after: dayOf(1734, 2),
      taken: { amount: 1234, count: 1, windows: { day: today }, basis: 'cleared' },
    },
  }),
} as const

const spendFirst = (amount: number, startsOn = today): string =>
  `insert into card_spending (public_token, windows) values ($1,
     '{"day": {"startsOn": "${startsOn}", "amount": ${amount}, "count": 1}}')`

/** What a card may have spent when an authorization under a limit is answered. */
const spendings: Readonly<Record<string, string>> = {
  'what was foreseen': spendFirst(500),
  nothing: 'select $1::text',
  'less than was foreseen': spendFirst(100),
  'more, and too much': spendFirst(1_000),
  'as much on another day': spendFirst(500, '2026-05-31'),
  'what was foreseen, too': spendFirst(500),
}

let count = 0
const nextToken = (): PublicToken => {
  count += 1
  return parsePublicToken(String(6_000_000_000 + count))
}

const makeClaim = (publicToken: PublicToken): Claim => ({
  clientId: networkId,
  keyHashes: [hash(`key of ${publicToken}`)],
  requestFingerprint: hash('request'),
  claimId: randomUUID(),
  answer: null,
  original: {
    transactionHashes: [hash(`transaction of ${publicToken}`)],
    messageClass: '1',
    trace: '000001',
    transmittedAt: '0601120000',
    acquirer: '',
  },
})

for (const { name, open, skip } of databaseEngines) {
  suite(`authorizations of many cards in one turn of the event loop, on ${name}`, { skip }, () => {
    let database: Database
    before(async () => {
      database = await open()
      await sql(
        database,
        `insert into product (product_id, product_name, scheme_name, bin, currency_code,
           card_types, validity_months, pin_length, pin_revealable, pin_try_limit, cvv_try_limit)
         values (1, 'Product', 'Visa', '400000', 'EUR', array['Virtual'], 48, 4, false, 3, 3)`,
      )
      await sql(
        database,
        `with network as (
           insert into client (client_id, client_name, kind, scopes)
           values ($1, 'Network', 'network', '{}') returning client_id
         )
         insert into zone_key (client_id, key_name, algorithm, pin_block_formats, key_block,
           key_check_value)
         select client_id, $2, 'AES', '{ISO_FORMAT_4}', $3, '0000' from network`,
        [networkId, zoneKey.keyName, zoneKey.keyBlock],
      )
    })

    async function makeCard(): Promise<PublicToken> {
      const publicToken = nextToken()
      await sql(
        database,
        `with new_card as (
           insert into card (public_token, client_id, product_id, card_type, masked_pan,
             encrypted_pan, personal_data, start_date, expiry_date, line_token, status_code,
             pvv, pin_key, cvk)
           values ($1, 'client-1', 1, 'Virtual', '400000******0000', '', '', '2026-01-01',
             '2030-01-31', $1, '00', '1234', 'pvk/1', 'cvk/1')
         ), number as (
           insert into pan_fingerprint (pan_fingerprint, public_token)
           values (sha256(convert_to('PAN of ' || $1, 'UTF8')), $1)
         )
         insert into try_counter (public_token, kind, try_limit)
         values ($1, 'pin', 3), ($1, 'cvv', 3)`,
        [publicToken],
      )
      return publicToken
    }

    /** Two cards that are alike in each way that is given. */
    const makePairs = (ways: readonly string[]) =>
      Promise.all(
        ways.map(async (way) => {
          const pair = [await makeCard(), await makeCard()] as const
          for (const publicToken of pair) await sql(database, way, [publicToken])
          return pair
        }),
      )

    function begin(publicToken: PublicToken, request: Request, claim: Claim | null) {
      const card: NamedCard = request.isByToken
        ? { publicToken }
        : { panFingerprints: [hash(`PAN of ${publicToken}`)] }
      const authorization = {
        ...origin,
        authorizationId: newEventId(),
        card,
        kind: request.kind === undefined ? ('pin' as const) : request.kind,
        currentMonth: '2026-06',
        expiryMonth: request.expiryMonth ?? null,
        zoneKey: request.zoneKey ?? null,
        chip: request.chip ?? null,
      }
      return beginAuthorization(database, authorization, claim)
    }

    /** What is stored of a card and its authorizations, without what differs between any two. */
    async function readState(publicToken: PublicToken) {
      const rows = (text: string) => sql<object>(database, text, [publicToken])
      return {
        card: await rows('select last_sequence from card where public_token = $1'),
        counters: await rows(
          `select kind, spent, restored, epoch, block_reported, outstanding_tries,
             array(select since > 0 from unnest(open_since) as since) as is_open
           from try_counter where public_token = $1 order by kind`,
        ),
        authorizations: await rows(
          `select network_id, request_id, reference, entry_mode, kind, try_number, epoch, result,
             restored, remaining_tries, response_code, checks, duration_ms,
             decided_at is null as is_undecided, product_controls_version, card_controls_version,
             spending
           from authorization_request where public_token = $1 order by authorization_id`,
        ),
        events: await rows(
          'select sequence, type, details from event where public_token = $1 order by sequence',
        ),
        keys: await rows(
          `select client_id, answer, request_fingerprint from idempotency_record
           where key_hash = sha256(convert_to('key of ' || $1, 'UTF8'))`,
        ),
        spending: await rows(
          'select windows, locked_merchant from card_spending where public_token = $1',
        ),
        payments: await rows(
          `select payment_id = (
               select payment_id from authorization_request as request
               where request.public_token = payment.public_token and response_code = '00'
             ) as is_of_authorization, client_id, network_id, network_transaction_id, opened_by,
             currency_code, approved, hold_expires_at
           from payment where public_token = $1`,
        ),
        chips: await rows(
          `select pan_sequence_number, highest_atc, seen_atcs, contact_atc, key_version,
             remaining_offline_tries,
             offline_tries_at is null as is_unreported
           from chip where public_token = $1`,
        ),
        transactions: await rows(
          `select message_class, reversed_at is null as is_unreversed from network_transaction
           where transaction_hash = sha256(convert_to('transaction of ' || $1, 'UTF8'))`,
        ),
      }
    }

    const withoutToken = ({ card, ...beginning }: Beginning): object => {
      const { publicToken: _, ...columns } = card ?? { publicToken: null }
      const { spent = null } = beginning as { spent?: { publicToken: string } | null }
      return { ...beginning, spent: spent && { ...spent, publicToken: null }, columns }
    }

    for (const [title, request] of Object.entries<Request>(requests)) {
      test(`each that begins ${title} comes to what it comes to alone`, async () => {
        const pairs = await makePairs(Object.values(cards))
        const claim = (publicToken: PublicToken) =>
          request.isKeyed ? makeClaim(publicToken) : null
        const together = await Promise.all(
          pairs.map(([shared]) => begin(shared, request, claim(shared))),
        )
        const names = Object.keys(cards)
        for (const [at, [shared, alone]] of pairs.entries()) {
          const outcome = await begin(alone, request, claim(alone))
          const beginning = together[at]
          assert.ok(beginning)
          assert.deepEqual(withoutToken(beginning), withoutToken(outcome), names[at])
          assert.deepEqual(await readState(shared), await readState(alone), names[at])
        }
      })
    }

    test('those that name one card by its token and by its PAN spend a try each, while one is left', async () => {
      const publicToken = await makeCard()
      const named = [{ isByToken: true }, {}, { isByToken: true }, {}]
      const claims = named.map((_, at) => ({
        ...makeClaim(publicToken),
        keyHashes: [hash(`key ${at} of ${publicToken}`)] as const,
      }))
      const begun = await Promise.all(
        named.map((request, at) => begin(publicToken, request, claims[at] ?? null)),
      )
      const numbers = begun.flatMap((each) =>
        each.outcome === 'spent' ? [each.spent.tryNumber] : [],
      )
      assert.deepEqual(numbers.toSorted(), [1, 2, 3])
    })

    for (const comparison of ['match', 'mismatch', 'unresolved'] as const) {
      for (const isKeyed of [false, true]) {
        const title = `${comparison}${isKeyed ? ' under a key' : ''}`
        test(`each that is settled as ${title} comes to what it comes to alone`, async () => {
          await compareSettled(comparison, isKeyed)
        })
      }
    }

    /** What a card may be like when an authorization is answered that spends nothing. */
    const answered = {
      'an active one': cards['an active one'],
      'one whose key was used': cards['one whose key was used'],
      'one whose reversal was first': cards['one whose reversal was first'],
      'one whose chip used the counter': cards['one whose chip used the counter'],
      'one whose chip used a higher counter': cards['one whose chip used a higher counter'],
      'one whose chip used a counter far above': cards['one whose chip used a counter far above'],
      'another active one': cards['another active one'],
    } as const

    const guesses = { kind: 'expiry', mistakes: 0, windowSeconds: 60 } as const
    for (const [title, isKeyed, threshold, authorization] of [
      ['without a key', false, null, declined],
      ['under a key', true, null, declined],
      ['with a wrong expiry', false, guesses, declined],
      ['with a wrong expiry under a key', true, guesses, declined],
      ['and approved', false, null, approved],
      ['and approved under a key', true, null, approved],
      ['with a chip', false, null, { ...approved, chip }],
      ['with a chip under a key', true, null, { ...approved, chip }],
      ['with a chip and declined', true, guesses, { ...declined, chip }],
    ] as const) {
      test(`each that spends nothing and is answered ${title} comes to what it comes to alone`, async () => {
        const pairs = await makePairs(Object.values(answered).map((way) => way ?? ''))
        const settle = (publicToken: PublicToken) =>
          answerAuthorization(
            database,
            { ...authorization, publicToken, authorizationId: newEventId() },
            isKeyed ? { ...makeClaim(publicToken), answer } : null,
            threshold,
          )
        const together = await Promise.all(pairs.map(([shared]) => settle(shared)))
        const names = Object.keys(answered)
        for (const [at, [shared, alone]] of pairs.entries()) {
          assert.deepEqual(together[at], await settle(alone), names[at])
          assert.deepEqual(await readState(shared), await readState(alone), names[at])
        }
      })
    }

    for (const isKeyed of [false, true]) {
      const title = `under a limit${isKeyed ? ' and a key' : ''}`
      test(`each approval ${title} takes what it takes alone, with a try and without`, async () => {
        await compareLimited(isKeyed)
      })
    }

    test('of several answers about one card each has its event, without a gap', async () => {
      const publicToken = await makeCard()
      const answers = Array.from({ length: 5 }, () =>
        answerAuthorization(
          database,
          { ...declined, publicToken, authorizationId: newEventId() },
          null,
        ),
      )
      await Promise.all(answers)
      const { card, events } = await readState(publicToken)
      assert.deepEqual(card, [{ last_sequence: 5 }])
      assert.deepEqual(
        events,
        [1, 2, 3, 4, 5].map((sequence) => ({
          sequence,
          type: declined.eventType,
          details: declined.details,
        })),
      )
    })

    const lockKey = (connection: Connection, publicToken: PublicToken, wait = '') =>
      sql(
        connection,
        `select from idempotency_record where key_hash = $1 for no key update ${wait}`,
        [hash(`key of ${publicToken}`)],
      )

    /** Resolves when a statement waits for a lock. */
    async function untilOneWaits(): Promise<void> {
      const waiting = `select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`
      while ((await sql(database, waiting)).length === 0);
    }

    test('keys are locked in the order of their cards, whatever the order of the callers', {
      skip: name !== 'PostgreSQL' && 'PGlite has one connection',
    }, async (t) => {
      if (database.isCluster()) return t.skip('a cluster settles each authorization by a call')
      const cards = [await makeCard(), await makeCard()] as const
      const settlements = await Promise.all(
        cards.map((each) => beginToSettle(each, makeClaim(each))),
      )
      const { settled } = await database.transaction(async (connection) => {
        await lockKey(connection, cards[0])
        const settled = Promise.all(settlements.toReversed().map((settle) => settle('match')))
        await untilOneWaits()
        await lockKey(connection, cards[1], 'nowait')
        return { settled }
      })
      assert.deepEqual(
        (await settled).map(({ isOwn }) => isOwn),
        [true, true],
      )
    })

    test('a reversal that is remembered while a shared statement waits is seen by it', {
      skip: name !== 'PostgreSQL' && 'PGlite has one connection',
    }, async (t) => {
      if (database.isCluster()) return t.skip('a cluster settles each authorization by a call')
      const cards = [await makeCard(), await makeCard()] as const
      const settlements = await Promise.all(
        cards.map((each) => beginToSettle(each, makeClaim(each))),
      )
      const { settled } = await database.transaction(async (connection) => {
        await lockKey(connection, cards[0])
        const settled = Promise.all(settlements.map((settle) => settle('match')))
        await untilOneWaits()
        const reversal = await recordPaymentMessage(database, {
          publicToken: cards[1],
          networkId,
          requestId: 'request',
          messageId: newEventId(),
          kind: 'reversal',
          messageKey: randomUUID(),
          paymentId: null,
          networkTransactionId: bakery.networkTransactionId,
          money: null,
          isRemaining: false,
          isFinal: false,
          now: approved.now,
          holdExpiresAt: approved.now,
          networkExpiresAt: null,
          merchant: null,
          reference: null,
        })
        assert.ok('effect' in reversal && reversal.effect === 'remember')
        return { settled }
      })
      assert.deepEqual(
        (await settled).map(({ isReversed }) => isReversed),
        [false, true],
      )
    })

    /** Begins an authorization. @returns how it is settled. */
    async function beginToSettle(
      publicToken: PublicToken,
      claim: Claim | null,
      way?: string,
      authorization: typeof approved | typeof limited = approved,
    ) {
      const begun = await begin(publicToken, {}, claim)
      assert.ok(begun.outcome === 'spent')
      if (way) await sql(database, way, [publicToken])
      const [row] = await sql<{ authorizationId: string }>(
        database,
        `select authorization_id as "authorizationId" from authorization_request
         where public_token = $1`,
        [publicToken],
      )
      assert.ok(row)
      const record = { ...authorization, ...row, publicToken }
      const foreseen = claim && {
        clientId: networkId,
        keyHash: hash(`key of ${publicToken}`),
        claimId: claim.claimId,
        answer,
        remaining: 3,
      }
      return (comparison: Comparison) =>
        settleAuthorization(database, { spent: begun.spent, comparison }, record, foreseen)
    }

    async function compareLimited(isKeyed: boolean): Promise<void> {
      const acts = new Map<PublicToken, () => Promise<object>>()
      const untried = await makePairs(Object.values(spendings))
      for (const publicToken of untried.flat()) {
        const claim = isKeyed ? { ...makeClaim(publicToken), answer } : null
        const record = { ...limited, publicToken, authorizationId: newEventId() }
        acts.set(publicToken, () => answerAuthorization(database, record, claim))
      }
      const tried = await makePairs(Object.values(spendings))
      for (const publicToken of tried.flat()) {
        const claim = isKeyed ? makeClaim(publicToken) : null
        const settle = await beginToSettle(publicToken, claim, undefined, limited)
        acts.set(publicToken, () => settle('match'))
      }
      const act = (publicToken: PublicToken) => acts.get(publicToken)?.()
      const pairs = [...untried, ...tried]
      const together = await Promise.all(pairs.map(([shared]) => act(shared)))
      const names = Object.keys(spendings)
      for (const [at, [shared, alone]] of pairs.entries()) {
        const name = names[at % names.length]
        assert.deepEqual(together[at], await act(alone), name)
        assert.deepEqual(await readState(shared), await readState(alone), name)
      }
      const [first] = tried
      const { spending } = await readState(first?.[0] ?? nextToken())
      assert.deepEqual(spending, [{ windows: dayOf(1734, 2), locked_merchant: null }])
    }

    async function compareSettled(comparison: Comparison, isKeyed: boolean): Promise<void> {
      const tried = new Map<PublicToken, () => Promise<object>>()
      const pairs = await Promise.all(
        Object.values(counters).map(async () => [await makeCard(), await makeCard()] as const),
      )
      for (const [at, way] of Object.values(counters).entries()) {
        for (const publicToken of pairs[at] ?? []) {
          const claim = isKeyed ? makeClaim(publicToken) : null
          const settle = await beginToSettle(publicToken, claim, way)
          tried.set(publicToken, () => settle(comparison))
        }
      }
      const settle = (publicToken: PublicToken) => tried.get(publicToken)?.()
      const together = await Promise.all(pairs.map(([shared]) => settle(shared)))
      const names = Object.keys(counters)
      for (const [at, [shared, alone]] of pairs.entries()) {
        assert.deepEqual(together[at], await settle(alone), names[at])
        assert.deepEqual(await readState(shared), await readState(alone), names[at])
      }
    }
  })
}
