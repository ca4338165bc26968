import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { suite, test } from 'node:test'
import type { TryKind } from '../../../src/domain/tries.ts'
import { answerUnknownCard } from '../../../src/storage/authorizations/settle.ts'
import type { Claim } from '../../../src/storage/idempotency/idempotency.ts'
import {
  hasReversalMark,
  type NewOriginal,
  reverseByElements,
  reverseTransaction,
} from '../../../src/storage/links/transactions.ts'
import { databaseEngines } from '../../support/engines.ts'
import { openPostgres } from '../../support/postgres.ts'
import { openServerDatabase, sql } from '../../support/service.ts'
import {
  card,
  database,
  makeCard,
  clientId as networkId,
  newClaim,
  origin,
  spendTry,
  useTriedCards,
} from '../authorizations/tried-cards.ts'

const postgres = await openPostgres()

let traces = 0
/** An original that nobody has had yet, under so many versions of the fingerprints' key. */
const newOriginal = (versions = 1): NewOriginal => {
  traces += 1
  return {
    transactionHashes: Array.from({ length: versions }, () => randomBytes(32)),
    messageClass: '1',
    trace: String(traces).padStart(6, '0'),
    transmittedAt: '1122170000',
    acquirer: '123456',
  }
}

const ask = (original: NewOriginal, publicToken = card, kind: TryKind = 'pin') =>
  spendTry(database, { publicToken, kind }, { ...origin, networkId }, { ...newClaim(), original })

const hashOf = ({ transactionHashes: [hash = Buffer.alloc(0)] }: NewOriginal): Uint8Array => hash
const reverse = async (original: NewOriginal, connection = database): Promise<boolean> =>
  (await reverseTransaction(connection, {
    networkId,
    transactionHash: hashOf(original),
  })) !== null
const hasMark = ({ transactionHashes }: NewOriginal) =>
  hasReversalMark(database, networkId, transactionHashes)

const countOf = async (table: 'attempt' | 'idempotency_record'): Promise<number> =>
  (await sql(database, `select from ${table}`)).length
const makeADayOld = (original: NewOriginal) =>
  sql(database, 'update network_transaction set created_at = $2 where transaction_hash = $1', [
    hashOf(original),
    new Date(Date.now() - 25 * 3_600_000),
  ])

for (const { name, open, skip } of databaseEngines) {
  suite(`originals and their reversals, on ${name}`, { skip }, () => {
    useTriedCards(open)

    test('each of several originals in one turn is found by what its reversal names', async () => {
      const originals = [newOriginal(), newOriginal(2), newOriginal()]
      const tokens = [card, await makeCard(), await makeCard()]
      const begun = await Promise.all(originals.map((original, at) => ask(original, tokens[at])))
      assert.deepEqual(
        begun.map((each) => each?.spent?.publicToken),
        tokens,
      )
      for (const original of originals) {
        assert.equal(await hasMark(original), false)
        assert.equal(await reverse(original), true)
        const { transactionHashes: _, ...elements } = original
        assert.notEqual(await reverseByElements(database, networkId, elements), null)
        const zeros = { ...elements, messageClass: '', acquirer: '' }
        assert.notEqual(await reverseByElements(database, networkId, zeros), null)
        for (const other of [
          { ...elements, messageClass: '2' },
          { ...elements, transmittedAt: '1122170001' },
          { ...elements, acquirer: '9' },
        ]) {
          assert.equal(await reverseByElements(database, networkId, other), null)
        }
        assert.equal(await reverseByElements(database, 'other-network', elements), null)
      }
    })

    test('an original that was overtaken spends nothing and claims no key, and its neighbours do', async () => {
      const overtaken = newOriginal()
      assert.equal(await reverse(overtaken), false)
      assert.equal(await hasMark(overtaken), true)
      const tries = await countOf('attempt')
      const keys = await countOf('idempotency_record')
      const tokens = [await makeCard(), card, await makeCard()]
      const originals = [newOriginal(), overtaken, newOriginal()]
      const begun = await Promise.all(originals.map((original, at) => ask(original, tokens[at])))
      assert.deepEqual(
        begun.map((each) => each?.spent?.remaining),
        [2, undefined, 2],
      )
      assert.equal(await ask(overtaken), null)
      const claim: Claim = { ...newClaim(), answer: Buffer.from('answer'), original: overtaken }
      assert.equal(await answerUnknownCard(database, networkId, claim), false)
      assert.equal(await countOf('attempt'), tries + 2)
      assert.equal(await countOf('idempotency_record'), keys + 2)
      assert.equal(await hasMark(overtaken), true)
    })

    test('a mark under one version of the fingerprints’ key is enough', async () => {
      const original = newOriginal(2)
      const [, second = Buffer.alloc(0)] = original.transactionHashes
      const mark = { networkId, transactionHash: second }
      assert.equal(await reverseTransaction(database, mark), null)
      assert.equal(await ask(original), null)
      assert.equal(await hasMark(original), true)
    })

    test('an answer without a try puts its original on record, too', async () => {
      const original = newOriginal()
      const claim: Claim = { ...newClaim(), answer: Buffer.from('answer'), original }
      assert.equal(await answerUnknownCard(database, networkId, claim), true)
      assert.equal(await reverse(original), true)
    })

    test('two questions of one transaction in one turn are asked both', async () => {
      const original = newOriginal()
      const [pin, cvv] = await Promise.all([ask(original), ask(original, card, 'cvv')])
      assert.deepEqual([pin?.spent?.kind, cvv?.spent?.kind], ['pin', 'cvv'])
    })

    test('a transaction that is a day old counts no more, on either side', async () => {
      const marked = newOriginal()
      await reverse(marked)
      await makeADayOld(marked)
      assert.equal(await hasMark(marked), false)
      assert.equal((await ask(marked))?.spent?.remaining, 2)
      assert.equal(await reverse(marked), true)
      await makeADayOld(marked)
      const { transactionHashes: _, ...elements } = marked
      assert.equal(await reverseByElements(database, networkId, elements), null)
      assert.equal(await reverse(marked), false)
      assert.equal(await hasMark(marked), true)
    })
  })
}

suite('on a PostgreSQL server, at once', { skip: postgres.leftOut }, () => {
  useTriedCards(async () => (await openServerDatabase(postgres)).database)

  // Of a cluster the rows are locked on a node.
  const sessions = postgres.isCluster ? 'citus_stat_activity' : 'pg_stat_activity'
  const waiting = async (): Promise<number> => {
    const text = `select from ${sessions}
      where datname = current_database() and wait_event_type = 'Lock'`
    return (await sql(database, text)).length
  }

  /**
   * Begins the work while a change is not committed yet, and commits it when the work waits for
   * that.
   */
  const beside = async <Result>(
    change: (connection: typeof database) => Promise<unknown>,
    work: () => Promise<Result>,
  ): Promise<Result> => {
    const begun = await database.transaction(async (connection) => {
      await change(connection as typeof database)
      const result = work()
      while ((await waiting()) === 0);
      return { result }
    })
    return begun.result
  }

  test('an original waits for a reversal that comes at once, and spends nothing', async () => {
    const original = newOriginal()
    const reversal = (connection: typeof database) => reverse(original, connection)
    assert.equal(await beside(reversal, () => ask(original)), null)
    const [counter] = await sql<{ spent: number }>(
      database,
      `select spent from try_counter where public_token = $1 and kind = 'pin'`,
      [card],
    )
    assert.equal(counter?.spent, 0)
  })

  test('a reversal waits for an original that comes at once, and finds it', async () => {
    const original = newOriginal()
    const claim: Claim = { ...newClaim(), answer: Buffer.from('answer'), original }
    const asking = (connection: typeof database) => answerUnknownCard(connection, networkId, claim)
    assert.equal(await beside(asking, () => reverse(original)), true)
    assert.equal(await hasMark(original), false)
  })
})
