import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { suite, test } from 'node:test'
import { followKeys } from '../../../src/operations/keys/rotate.ts'
import { activateKey } from '../../support/builders.ts'
import { openPostgres } from '../../support/postgres.ts'
import {
  openServerDatabase,
  openTestService,
  pool,
  sql,
  type TestService,
} from '../../support/service.ts'

const postgres = await openPostgres()

const openers: Readonly<Record<string, () => Promise<readonly TestService[]>>> = {
  'the embedded database': async () => [await openTestService({ env: { RATE_LIMIT: 'off' } })],
  'a PostgreSQL server, with two services': async () => {
    const env = { RATE_LIMIT: 'off' }
    const { database, url } = await openServerDatabase(postgres)
    const first = await openTestService({ database, env })
    const second = await openTestService({ database: pool(url, 10), dataDir: first.dataDir, env })
    return [first, second]
  },
}

const ask = (service: TestService, path: string, key: string | null, body?: object) =>
  service.call('POST', `/${path}`, {
    as: 'admin',
    listener: 'private',
    headers: key === null ? {} : { 'idempotency-key': key },
    ...(body && { body }),
  })

const versionsOf = async ({ database }: TestService, name: string): Promise<number[]> => {
  const rows = await sql<{ version: number }>(
    database,
    'select key_version as version from hsm_key where key_name = $1 order by 1',
    [name],
  )
  return rows.map(({ version }) => version)
}

const actsOn = async ({ database }: TestService, reference: string): Promise<string[]> => {
  const rows = await sql<{ act: string }>(
    database,
    'select act from audit_act where subject = $1 order by number',
    [reference],
  )
  return rows.map(({ act }) => act)
}

for (const [where, open] of Object.entries(openers)) {
  suite(`on ${where}`, { skip: where.startsWith('a') ? postgres.leftOut : false }, () => {
    test('a rotation that is asked for again makes no other version, also when its own is active', async () => {
      const [service] = await open()
      assert.ok(service)
      const key = randomUUID()
      const first = await ask(service, '/keys/pvk/rotate', key)
      assert.deepEqual([first.status, first.json.version], [202, 2], first.text)
      await sql(
        service.database,
        'update hsm_key set activates_at = now() where activates_at > now()',
      )
      await followKeys(service.keys)
      const again = await ask(service, '/keys/pvk/rotate', key)
      assert.deepEqual([again.status, again.json], [202, first.json])
      assert.equal(again.headers['idempotency-replayed'], 'true')
      assert.deepEqual(await versionsOf(service, 'pvk'), [1, 2])
      assert.deepEqual(await actsOn(service, 'pvk/2'), ['generated', 'rotation begun', 'activated'])
      const other = await ask(service, '/keys/cvk/rotate', key)
      assert.deepEqual([other.status, other.json.code], [422, 'idempotency_key_reused'])
    })

    test('an act on a key, its record and the answer to its key commit together or not at all', async () => {
      const [service] = await open()
      assert.ok(service)
      const shut =
        'alter table idempotency_record add constraint shut check (answer is null) not valid'
      await sql(service.database, shut)
      const acts = await sql(service.database, 'select act from audit_act')
      const key = randomUUID()
      const target = { family: 'zone', clientId: 'demo-network', key: 'zone-new' }
      const asked: readonly (readonly [string, object?])[] = [
        ['/keys/pvk/rotate'],
        ['/keys', { ...target, pinBlockFormats: ['ISO_FORMAT_4'] }],
        ['/keys/zones/retire', { clientId: 'demo-network', key: 'zone-a' }],
      ]
      for (const [path, body] of asked) {
        assert.equal((await ask(service, path, key, body)).status, 500, path)
      }
      assert.deepEqual(await versionsOf(service, 'pvk'), [1])
      assert.deepEqual(await sql(service.database, 'select act from audit_act'), acts)
      await sql(service.database, 'alter table idempotency_record drop constraint shut')
      // And the key is free.
      assert.equal((await ask(service, '/keys/pvk/rotate', key)).status, 202)
    })

    test('of twenty rotations at once under one key one is begun, and who waited gets its answer', async () => {
      const services = await open()
      const key = randomUUID()
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, at) => {
          const service = services[at % services.length]
          assert.ok(service)
          return ask(service, '/keys/pan/rotate', key)
        }),
      )
      // On a busy machine the first one may run for longer than the others wait.
      const answered = answers.filter(({ json }) => json.code !== 'idempotency_key_in_use')
      for (const { json, status, text } of answered) {
        assert.deepEqual([status, json.version], [202, 2], text)
      }
      assert.equal(new Set(answered.map(({ text }) => text)).size, 1)
      const done = answered.filter(({ headers }) => headers['idempotency-replayed'] !== 'true')
      assert.equal(done.length, 1)
      const [service] = services
      assert.ok(service)
      assert.deepEqual(await actsOn(service, 'pan/2'), ['generated', 'rotation begun'])
    })

    test('a version that was retired or forgotten under a key is answered so again, whatever came since', async () => {
      const [service] = await open()
      assert.ok(service)
      await ask(service, '/keys/cvk/rotate', null)
      await activateKey(service.database, 'cvk', '1 hour')
      const keys = [randomUUID(), randomUUID()]
      const retire = () => ask(service, '/keys/cvk/versions/1/retire', keys[0] ?? '')
      const forget = () => ask(service, '/keys/cvk/versions/1/delete', keys[1] ?? '')
      assert.equal((await retire()).status, 204)
      await sql(
        service.database,
        `update hsm_key set retired_at = now() - interval '1 hour' where retired_at is not null`,
      )
      assert.equal((await forget()).status, 204)
      for (const again of [await retire(), await forget()]) {
        assert.deepEqual([again.status, again.headers['idempotency-replayed']], [204, 'true'])
      }
      assert.deepEqual((await actsOn(service, 'cvk/1')).slice(-2), ['retired', 'deleted'])
    })
  })
}
