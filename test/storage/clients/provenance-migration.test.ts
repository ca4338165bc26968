import assert from 'node:assert/strict'
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { listProvenance } from '../../../src/storage/clients/provenance.ts'
import { migrate } from '../../../src/storage/engine/migrate.ts'
import { openTestPglite } from '../../support/pglite.ts'
import { sql } from '../../support/service.ts'

const migrations = new URL('../../../migrations/', import.meta.url)

test('who registered an administrator, and set its credentials, is known of those from before, by the record of acts', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'pinfold-migrations-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  for (const name of await readdir(migrations)) {
    if (Number(name.slice(0, 4)) < 14) {
      await cp(fileURLToPath(new URL(name, migrations)), join(folder, name))
    }
  }
  const before = pathToFileURL(`${folder}/`)
  const database = await openTestPglite({ prepare: (fresh) => migrate(fresh, before) })
  for (const id of ['root', 'ana', 'bo', 'cy']) {
    const text = `insert into client (client_id, client_name, kind, scopes) values ($1, $1, 'admin', '{admin}')`
    await sql(database, text, [id])
  }
  const acts = [
    ['created', 'ana', '{}', 'root'],
    ['created', 'bo', '{}', 'ana'],
    ['secret rotated', 'cy', '{}', 'bo'],
    ['changed', 'cy', '{"before":{},"after":{"clientName":"Cy"}}', 'ana'],
    ['changed', 'root', '{"before":{"jwks":null},"after":{"jwks":{"keys":[]}}}', 'cy'],
    ['secret rotated', 'ana', '{}', 'ana'],
  ] as const
  for (const values of acts) {
    await sql(
      database,
      `insert into operator_act (act, subject_kind, subject, details, client_id, request_id)
       values ($1, 'client', $2, $3, $4, 'r')`,
      values,
    )
  }
  await migrate(database, migrations)
  const provenance = await listProvenance(database, ['root', 'ana', 'bo', 'cy'])
  assert.deepEqual(
    provenance.map(({ act, by, clientId, controlledBy }) => [clientId, act, by, [...controlledBy]]),
    [
      ['ana', 'created', 'root', ['ana', 'bo', 'cy', 'root']],
      ['bo', 'created', 'ana', ['ana', 'bo', 'cy', 'root']],
      ['cy', 'credentials_set', 'bo', ['ana', 'bo', 'cy', 'root']],
      ['root', 'credentials_set', 'cy', ['ana', 'bo', 'cy', 'root']],
    ],
  )
  const versions = await sql(
    database,
    'select client_id as id, credentials_version as version from client order by 1',
  )
  assert.deepEqual(
    versions.map(({ id, version }) => [id, version]),
    [
      ['ana', 1],
      ['bo', 1],
      ['cy', 2],
      ['root', 2],
    ],
  )
  await database.close()
})
