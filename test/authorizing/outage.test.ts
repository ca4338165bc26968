import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { ask, issueCard, pinTry } from '../support/network.ts'
import { openPostgres } from '../support/postgres.ts'
import { openServerDatabase, openTestService, pool, sql } from '../support/service.ts'

const postgres = await openPostgres()

suite('on a PostgreSQL server', { skip: postgres.leftOut }, () => {
  test('while the database is away an authorization is 503, and it is answered when it is back', async () => {
    const { database, url } = await openServerDatabase(postgres)
    const service = await openTestService({ database, env: { RATE_LIMIT: 'off' } })
    const card = await issueCard(service)
    await ask(service, pinTry(service, card))
    const operator = pool(postgres.url ?? '', 1)
    const name = new URL(url).pathname.slice(1)
    const away = async (isAway: boolean): Promise<void> => {
      await operator.script(`alter database "${name}" with allow_connections ${!isAway}`)
      if (!isAway) return
      await sql(
        operator,
        'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1',
        [name],
      )
    }
    await away(true)
    for (const headers of [{}, { 'idempotency-key': 'K-1' }]) {
      const answer = await ask(service, pinTry(service, card), { headers })
      assert.deepEqual([answer.status, answer.json.code], [503, 'unavailable'])
      assert.ok(Number(answer.headers['retry-after']) >= 1)
      assert.doesNotMatch(answer.text, /select|connect|database "/)
    }
    await away(false)
    await operator.close()
    const headers = { 'idempotency-key': 'K-1' }
    const again = await ask(service, pinTry(service, card), { headers })
    assert.equal(again.json.approved, true)
  })

  test('of a thousand questions at once on two connections none is refused for their number', async () => {
    const { database } = await openServerDatabase(postgres, 2)
    // They wait as long as a machine takes that does much else.
    const service = await openTestService({ database, env: { CALL_WAIT_MS: '60000' } })
    const cards = await Promise.all(Array.from({ length: 10 }, () => issueCard(service)))
    const answers = await Promise.all(
      Array.from({ length: 1_000 }, (_, index) => {
        const card = cards[index % 10]
        return card ? ask(service, pinTry(service, card)) : null
      }),
    )
    assert.deepEqual(new Set(answers.map((answer) => answer?.status)), new Set([200]))
    const codes = new Set(answers.map((answer) => answer?.json.responseCode))
    for (const code of codes) assert.ok(code === '00' || code === '75', code)
    const compared = answers.filter((answer) => answer?.json.responseCode === '00')
    const [spent] = await sql<{ tries: number }>(
      database,
      'select count(*)::integer as tries from attempt',
    )
    assert.equal(spent?.tries, compared.length)
  })
})
