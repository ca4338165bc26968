/**
 * Checkpoints: when one is signed, by which keys, what is remembered of it, and when none may be.
 */
import assert from 'node:assert/strict'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { parseCheckpoint } from '../../../packages/audit/checkpoints.ts'
import { openNote, parseNote, parseVerifierKey } from '../../../packages/audit/notes.ts'
import { readRoot } from '../../../packages/audit/tiles.ts'
import { createTileReader } from '../../../src/operations/audit-log/audit-log.ts'
import { createFollower, createSigner } from '../../../src/operations/audit-log/sign.ts'
import { followKeys } from '../../../src/operations/keys/rotate.ts'
import { checkpointFile } from '../../../src/storage/audit-log/checkpoint-file.ts'
import {
  ageCheckpoints,
  appendMany,
  enterAll,
  listEntries,
  rollBackTo,
  signAll,
  signedSize,
} from '../../support/audit.ts'
import { openTestService, sql, type TestService } from '../../support/service.ts'
import { onEachEngine, type Services } from '../authorizations/engines.ts'

interface Signed {
  readonly size: number
  readonly root: Uint8Array
  readonly note: string
  readonly signedAt: Date
}

const checkpointsOf = ({ database }: TestService): Promise<Signed[]> =>
  sql<Signed>(
    database,
    `select size::float8 as "size", root, note, signed_at as "signedAt" from audit_checkpoint
     where log = 1 order by size`,
  )

const rememberedBy = ({ dataDir }: TestService): Promise<string> =>
  readFile(join(dataDir, 'audit-checkpoint'), 'utf8')

const sizeOf = (note: string): number => parseCheckpoint(parseNote(note).text).size

const keysOf = async (service: TestService) => {
  const { text } = await service.call('GET', '//.well-known/audit-log-keys', { token: null })
  return text.trimEnd().split('\n').map(parseVerifierKey)
}

onEachEngine((engine) => {
  let opened: Services
  before(async () => {
    opened = await engine.open()
  })

  test('a growing log is signed at most once a second, and an idle one not again', async () => {
    const { service } = opened
    const signers = opened.services.map(({ audit }) => createSigner(audit))
    const timesSigned = async () =>
      (await checkpointsOf(service)).map(({ signedAt }) => signedAt.getTime())
    while ((await timesSigned()).length < 4) {
      await appendMany(service.audit, 1)
      for (const sign of signers) assert.notEqual(await sign(), 'refused')
    }
    await signAll(service.audit)
    const times = await timesSigned()
    for (const [at, time] of times.entries()) {
      assert.ok(at === 0 || time - (times[at - 1] ?? 0) >= 990, times.join(' '))
    }
    const signed = await signedSize(service.database)
    await ageCheckpoints(service.database)
    assert.equal(await createSigner(service.audit)(), 'unchanged')
    assert.equal((await checkpointsOf(service)).length, times.length)
    assert.equal(await signedSize(service.database), signed)
  })

  test('each checkpoint has the root of its committed entries, by a published key', async () => {
    const { service } = opened
    await appendMany(service.audit, 257)
    await signAll(service.audit)
    const keys = await keysOf(service)
    const { length } = await listEntries(service.database)
    for (const { note, root, size } of await checkpointsOf(service)) {
      assert.ok(size <= length)
      const signed = parseCheckpoint((await openNote(note, keys)).text)
      const { origin } = service.audit
      assert.deepEqual(signed, { origin, size, root: new Uint8Array(root) })
      const rootNow = await readRoot(size, createTileReader(service.database, 1))
      assert.deepEqual(new Uint8Array(rootNow), signed.root)
    }
  })

  test('entries that are not committed are under no checkpoint', async (t) => {
    if (engine.name === 'PGlite') return t.skip('PGlite has one connection')
    const [{ audit, database }, other] = opened.services
    await signAll(audit)
    const size = await signedSize(database)
    await ageCheckpoints(database)
    const undone = new Error('undone')
    const appending = database.transaction(async (connection) => {
      await sql(connection, 'update audit_log set size = size + 5 where log = 1')
      assert.equal(await createSigner(other.audit)(), 'unchanged')
      throw undone
    })
    await assert.rejects(appending, undone)
    assert.equal(await signedSize(database), size)
  })

  test('a checkpoint is on the disk of this machine before anybody can read it', async () => {
    const { service } = opened
    const { audit, database } = service
    await appendMany(audit, 2)
    await ageCheckpoints(database)
    const size = await signedSize(database)
    const seen: number[] = []
    const outside = {
      read: audit.outside.read,
      write: async (note: string, mayReplace: (remembered: string) => boolean) => {
        const isKept = await audit.outside.write(note, mayReplace)
        seen.push(sizeOf(await rememberedBy(service)), await signedSize(database))
        return isKept
      },
    }
    assert.equal(await createSigner({ ...audit, outside })(), 'signed')
    assert.deepEqual(seen, [size + 2, size])
    assert.equal(sizeOf(await rememberedBy(service)), await signedSize(database))
  })

  test('a checkpoint that cannot be remembered is not published, and the remembered one stays', async () => {
    const { service } = opened
    const { audit, database } = service
    await signAll(audit)
    const [size, remembered] = [await signedSize(database), await rememberedBy(service)]
    await appendMany(audit, 1)
    await ageCheckpoints(database)
    const outside = { read: audit.outside.read, write: () => Promise.reject(new Error('no space')) }
    await assert.rejects(createSigner({ ...audit, outside })(), /no space/)
    assert.equal(await signedSize(database), size)
    assert.equal(await rememberedBy(service), remembered)
    await signAll(audit)
  })

  test('another machine remembers what this one signs, and is no obstacle where it was away', async () => {
    const { service } = opened
    const folder = join(service.dataDir, 'other-machine')
    await mkdir(folder, { recursive: true })
    const outside = checkpointFile(join(folder, 'audit-checkpoint'))
    const other = { ...service.audit, outside }
    assert.equal(await outside.read(), null)
    await createFollower(other)()
    const first = (await outside.read()) ?? ''
    assert.equal(sizeOf(first), await signedSize(service.database))
    await appendMany(service.audit, 3)
    await signAll(service.audit)
    await ageCheckpoints(service.database)
    assert.notEqual(await createSigner(other)(), 'refused')
    await createFollower(other)()
    assert.equal(sizeOf((await outside.read()) ?? ''), await signedSize(service.database))
    await rm(folder, { recursive: true })
  })

  test('a key that is changed signs beside the old one until that is retired, and the change is an entry', async () => {
    const { service } = opened
    const admin = { as: 'admin', listener: 'private' } as const
    await appendMany(service.audit, 1)
    await signAll(service.audit)
    const [before] = (await checkpointsOf(service)).slice(-1)
    const [oldKey] = await keysOf(service)
    assert.ok(before && oldKey)
    const rotated = await service.call('POST', '//keys/audit/rotate', admin)
    assert.equal(rotated.status, 202, rotated.text)
    // Every process has to know it before it is used: here there is nobody to wait for.
    const active = `update hsm_key set activates_at = now() where key_name = 'audit'`
    await sql(service.database, `${active} and activates_at is not null`)
    for (const { keys } of opened.services) await followKeys(keys)
    const both = await keysOf(service)
    assert.equal(both.length, 2)
    const newKey = both.find(({ id }) => id !== oldKey.id)
    assert.ok(newKey)
    await enterAll(service.database)
    await ageCheckpoints(service.database)
    await signAll(service.audit)
    const [after] = (await checkpointsOf(service)).slice(-1)
    assert.ok(after && after.size > before.size)
    // Who knows one of the two follows the log across the change; what was signed before stays
    // good.
    for (const key of [oldKey, newKey]) await openNote(after.note, [key])
    await openNote(before.note, both)
    const acts = (await listEntries(service.database)).map(({ text }) => JSON.parse(text))
    const changes = acts.filter(({ key }) => key === 'audit/2')
    assert.deepEqual(
      changes.map(({ act }) => act),
      ['key.generated', 'key.rotation_begun', 'key.activated'],
    )
    assert.equal(changes[0].client, service.sandbox?.admin.clientId)
  })

  test('after the clock was set back, the next checkpoint is signed one second after the last look', async () => {
    const { service } = opened
    await signAll(service.audit)
    await sql(
      service.database,
      `update audit_checkpoint set signed_at = signed_at + interval '1 hour' where log = 1`,
    )
    await appendMany(service.audit, 1)
    const sign = createSigner(service.audit)
    assert.equal(await sign(), 'signed')
    await sql(
      service.database,
      `update audit_checkpoint set signed_at = signed_at + interval '1 hour' where log = 1`,
    )
    await appendMany(service.audit, 1)
    const before = performance.now()
    while ((await sign()) !== 'signed') await wait(20)
    assert.ok(performance.now() - before > 500)
    await sql(
      service.database,
      `update audit_checkpoint set signed_at = signed_at - interval '2 hours' where log = 1`,
    )
  })

  test('a file that holds no checkpoint is not taken for one that remembers nothing', async () => {
    const { service } = opened
    const remembered = await rememberedBy(service)
    await writeFile(join(service.dataDir, 'audit-checkpoint'), 'not a note')
    await appendMany(service.audit, 1)
    await ageCheckpoints(service.database)
    assert.equal(await createSigner(service.audit)(), 'refused')
    await writeFile(join(service.dataDir, 'audit-checkpoint'), remembered)
    await signAll(service.audit)
  })
})

test('a successor that a restored database has lost is followed by another', async () => {
  const service = await openTestService()
  const { audit, database } = service
  const succeed = (reason: string) =>
    service.call('POST', '//audit/successor', {
      as: 'admin',
      listener: 'private',
      body: { reason },
    })
  await appendMany(audit, 5)
  await signAll(audit)
  await rollBackTo(database, 2)
  assert.equal(await createSigner(audit)(), 'refused')
  assert.equal((await succeed('Restored')).status, 201)
  await signAll(audit)
  const lost = await rememberedBy(service)
  // A backup of before the succession is brought back.
  for (const table of ['audit_checkpoint', 'audit_tile', 'audit_entry', 'audit_log']) {
    await sql(database, `delete from ${table} where log = 2 returning log`)
  }
  await sql(database, 'update audit_log set closed_at = null, refusal = null returning log')
  assert.equal(await createSigner(audit)(), 'refused')
  const begun = await succeed('Restored once more')
  assert.equal(begun.status, 201, begun.text)
  assert.equal(begun.json.predecessorCheckpoint, lost)
  await signAll(audit)
  const origin = (note: string) => note.split('\n')[0]
  assert.equal(origin(await rememberedBy(service)), begun.json.origin)
  await writeFile(join(service.dataDir, 'audit-checkpoint'), lost)
  await appendMany(audit, 1)
  await signAll(audit)
})

test('a signer that was held up sets back neither what is remembered of the log, nor of its successor', async () => {
  const service = await openTestService()
  const { audit, database } = service
  await appendMany(audit, 2)
  /**
   * Signs what is there now, and is held up just before it remembers that, until `meanwhile` is
   * done.
   */
  const heldUp = (meanwhile: () => Promise<unknown>) => {
    const write: typeof audit.outside.write = async (note, mayReplace) => {
      await meanwhile()
      return audit.outside.write(note, mayReplace)
    }
    return createSigner({ ...audit, outside: { ...audit.outside, write } })()
  }
  const smaller = heldUp(async () => {
    await appendMany(audit, 3)
    await signAll(audit)
  })
  await assert.rejects(smaller, /newer checkpoint/)
  assert.equal(sizeOf(await rememberedBy(service)), 5)
  await appendMany(audit, 1)
  await ageCheckpoints(database)
  const former = heldUp(async () => {
    await sql(database, `update audit_log set refusal = 'restored' returning log`)
    const begun = await service.call('POST', '//audit/successor', {
      as: 'admin',
      listener: 'private',
      body: { reason: 'Restored' },
    })
    assert.equal(begun.status, 201, begun.text)
    await signAll(audit)
  })
  await assert.rejects(former, /newer checkpoint/)
  const [origin] = (await rememberedBy(service)).split('\n')
  assert.notEqual(origin, audit.origin)
})

test('a machine that does not sign reports when another signs a log that went back', async () => {
  const service = await openTestService()
  const { audit, database } = service
  await appendMany(audit, 5)
  await signAll(audit)
  const remembered = await rememberedBy(service)
  const follow = createFollower(audit)
  await follow()
  const look = async () => {
    await wait(1_050)
    await follow()
    const given = { listener: 'private', token: null } as const
    const health = await service.call('GET', '//health', given)
    const metrics = await service.call('GET', '//metrics', given)
    const [, refused] = /^pinfold_audit_log_refused (\d)$/m.exec(metrics.text) ?? []
    return [health.status, refused, health.json.checks['audit-log:signing'][0].output]
  }
  assert.deepEqual((await look()).slice(0, 2), [200, '0'])
  await rollBackTo(database, 2)
  const forgetful = {
    ...audit,
    found: { refusal: null },
    outside: checkpointFile(join(service.dataDir, 'forgetful', 'audit-checkpoint')),
  }
  await appendMany(audit, 1)
  await signAll(forgetful)
  const smaller = await look()
  assert.deepEqual(smaller.slice(0, 2), [503, '1'])
  assert.match(smaller[2], /signed with 5 entries, but this database has 3/)
  await appendMany(audit, 4)
  await signAll(forgetful)
  const larger = await look()
  assert.deepEqual(larger.slice(0, 2), [503, '1'])
  assert.match(larger[2], /first 5 entries .* differ from the signed ones/)
  assert.equal(await rememberedBy(service), remembered)
})
