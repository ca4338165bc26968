import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { openPostgres } from '../support/postgres.ts'
import { type Program, startProgram } from '../support/process.ts'
import { newCard } from '../support/service.ts'
import { mountSmallDisk, smallDiskLeftOut } from '../support/small-disk.ts'
import { administer, onDatabase } from '../support/test-databases.ts'
import { until } from '../support/until.ts'

// A server of its own: while a disk is full, no database of its server can make a checkpoint.
const postgres = await openPostgres({ settings: { max_wal_size: '1GB' } })
after(() => postgres.stop())

const createCard = async (program: Program, token: string) =>
  program.call('POST', '/cards', { token, body: newCard() })

interface HealthDocument {
  readonly status: string
  readonly checks: { readonly database: readonly [{ readonly status: string }] }
}

const statusesOf = async ({ privateUrl }: Program) => {
  const [ready, health] = await Promise.all([
    fetch(`${privateUrl}/readyz`),
    fetch(`${privateUrl}/health`),
  ])
  const { checks, status } = (await health.json()) as HealthDocument
  return [ready.status, health.status, status, checks.database[0].status]
}

/** Fills the disk under a program, makes room again, and proves what it says meanwhile. */
const proveRefusal = async (
  program: Program,
  disk: Awaited<ReturnType<typeof mountSmallDisk>>,
): Promise<void> => {
  const token = await program.token()
  const before = await createCard(program, token)
  assert.equal(before.status, 201, before.text)
  assert.deepEqual((await statusesOf(program)).at(-1), 'pass')
  disk.fill()
  let refused = before
  await until(async () => {
    refused = await createCard(program, token)
    return refused.status !== 201
  })
  assert.equal(refused.status, 503, refused.text)
  assert.equal(refused.json.detail, 'The database has no free space for changes.')
  assert.ok(Number(refused.headers.get('retry-after')) > 0)
  assert.deepEqual(await statusesOf(program), [503, 503, 'fail', 'fail'])
  const read = await program.call('GET', `/cards/${before.json.publicToken}`, { token })
  assert.equal(read.status, 200, read.text)
  disk.empty()
  await until(async () => (await statusesOf(program))[0] === 200)
  await until(async () => (await createCard(program, token)).status === 201)
  assert.equal((await program.kill('SIGTERM')).code, 0)
}

const title =
  'on a full disk changes are 503 with Retry-After and it is not ready, until there is room; reads go on'

test(`embedded: ${title}`, { skip: smallDiskLeftOut, timeout: 180_000 }, async () => {
  const disk = await mountSmallDisk(200)
  const program = await startProgram({ dataDir: join(disk.folder, 'data') })
  await proveRefusal(program, disk)
})

test(`on a server: ${title}`, {
  skip: smallDiskLeftOut || postgres.leftOut,
  timeout: 180_000,
}, async (t) => {
  const disk = await mountSmallDisk(100)
  const space = `small_${process.pid}`
  const admin = postgres.url ?? ''
  const statements = [
    `create tablespace ${space} location '${disk.folder}'`,
    `create database ${space} tablespace ${space}`,
  ]
  for (const text of statements) await administer(admin, (client) => client.query(text))
  t.after(async () => {
    for (const kind of ['database', 'tablespace']) {
      await administer(admin, (client) => client.query(`drop ${kind} if exists ${space}`))
    }
  })
  const env = { DATABASE_URL: onDatabase(admin, space), SANDBOX: 'true' }
  await proveRefusal(await startProgram({ env }), disk)
})
