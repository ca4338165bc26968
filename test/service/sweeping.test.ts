import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { Database } from '../../src/storage/engine/database.ts'
import { migrate } from '../../src/storage/engine/migrate.ts'
import { openPglite } from '../../src/storage/engine/pglite.ts'
import { openTestPglite } from '../support/pglite.ts'
import { makeFolder, type Program, startProgram } from '../support/process.ts'
import { openTestService, sql } from '../support/service.ts'

const migrations = new URL('../../migrations/', import.meta.url)

/** Of each part of the sweep, something that a program which was lost has left to it. */
const leaveBehind = async (database: Database, tried: string, expired: string): Promise<void> => {
  await sql(
    database,
    `update try_counter set spent = try_limit where public_token = $1 and kind = 'pin'`,
    [tried],
  )
  await sql(
    database,
    `update card set start_date = '2019-01-01', expiry_date = '2020-01-31' where public_token = $1`,
    [expired],
  )
  await sql(
    database,
    `insert into pin_envelope (public_token, jti_hash, expires_at)
     values ($1, decode(repeat('00', 32), 'hex'), '2020-01-01')`,
    [tried],
  )
}

const cardsOf = async (program: Program, type: string): Promise<string[]> => {
  const { json } = await program.call('GET', `/events?types=${type}`, {
    token: await program.token('events.read'),
  })
  return json.map(({ data }: { data: { publicToken: string } }) => data.publicToken)
}

test('a service that starts sweeps up all that a lost one left: a block that nobody was told of, a card that expired, what was taken once', {
  timeout: 90_000,
}, async () => {
  const dataDir = await makeFolder()
  const folder = join(dataDir, 'pgdata')
  const lost = await openTestPglite({ folder, prepare: (fresh) => migrate(fresh, migrations) })
  const service = await openTestService({ database: lost, dataDir })
  const { publicToken: tried } = await service.createCard()
  const { publicToken: expired } = await service.createCard()
  await leaveBehind(lost, tried, expired)
  await service.close()
  await lost.close()

  const program = await startProgram({ dataDir })
  for (const [type, publicToken] of [
    ['card.status_changed', expired],
    ['pin.blocked', tried],
  ] as const) {
    while (!(await cardsOf(program, type)).includes(publicToken)) await wait(20)
    assert.deepEqual(await cardsOf(program, type), [publicToken], type)
  }
  // Stopping waits for the turn that runs.
  assert.equal((await program.kill('SIGTERM')).code, 0)
  const left = await openPglite(folder)
  const envelopes = await sql(left, 'select public_token from pin_envelope')
  await left.close()
  assert.deepEqual(envelopes, [])
})
