import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openPostgres } from '../support/postgres.ts'
import { reachableTemporaryFolder, unprivilegedUser } from '../support/postgres-binaries.ts'
import { startRefused } from '../support/process.ts'
import { mountSmallDisk, smallDiskLeftOut } from '../support/small-disk.ts'
import { administer } from '../support/test-databases.ts'

const postgres = await openPostgres()
const runAs = await unprivilegedUser()
const folder = await mkdtemp(join(await reachableTemporaryFolder(runAs), 'pinfold-refusals-'))
after(() => rm(folder, { recursive: true, force: true }))
await chmod(folder, 0o755)

/**
 * Root may do everything: refusals are those of another user, who must be able to read this
 * program.
 */
const mainFile = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
const readIt = `fs.accessSync(${JSON.stringify(mainFile)})`
const userLeftOut =
  spawnSync(process.execPath, ['-e', readIt], { ...runAs, cwd: '/' }).status !== 0 &&
  'an unprivileged user cannot read this folder'

/** A folder of the user that the program runs as. */
const makeOwnFolder = async (name: string): Promise<string> => {
  const own = join(folder, name)
  await mkdir(own)
  if (runAs) await chown(own, runAs.uid, runAs.gid)
  return own
}

/** One sentence, or a few, on one line, and no stack. */
const assertSaid = (said: string, expected: RegExp): void => {
  assert.match(said, expected)
  assert.equal(said.trim().split('\n').length, 1, said)
}

const timeout = 120_000

const firstFreePort = '/proc/sys/net/ipv4/ip_unprivileged_port_start'
const portsAreFree = Number(await readFile(firstFreePort, 'utf8').catch(() => '1024')) <= 80

suite('what keeps the service from starting is one line that names the setting', {
  skip: userLeftOut,
}, () => {
  const refused = (env: Readonly<Record<string, string>>) => {
    const { DATA_DIR: dataDir = '' } = env
    return startRefused({ dataDir, env, runAs })
  }

  test('a data directory of another user', { timeout }, async () => {
    const dataDir = join(folder, 'other')
    await mkdir(dataDir)
    await chmod(dataDir, runAs ? 0o755 : 0o500)
    assertSaid(
      await refused({ DATA_DIR: dataDir }),
      /^DATA_DIR: .* \(EACCES\): give it to the user/,
    )
  })

  test('a data directory that cannot be made', { timeout }, async () => {
    const said = await refused({ DATA_DIR: '/usr/pinfold/data' })
    assertSaid(said, /^DATA_DIR: \/usr\/pinfold.* \((?:EACCES|EROFS|EPERM)\)/)
  })

  test('a data directory that is a file, or lies below one', { timeout }, async () => {
    const file = join(folder, 'file')
    await writeFile(file, '')
    assertSaid(await refused({ DATA_DIR: file }), /^DATA_DIR: .* \(EEXIST\): name a folder/)
    const below = join(file, 'data')
    assertSaid(await refused({ DATA_DIR: below }), /^DATA_DIR: .* \(ENOTDIR\): name a folder/)
  })

  test('a folder of the database that has files and is none, which is left as it is', {
    timeout,
  }, async () => {
    const dataDir = await makeOwnFolder('strange')
    await mkdir(join(dataDir, 'pgdata'))
    await writeFile(join(dataDir, 'pgdata', 'notes.txt'), 'mine')
    await chmod(join(dataDir, 'pgdata'), 0o777)
    assertSaid(
      await refused({ DATA_DIR: dataDir }),
      /in DATA_DIR has files, .*PG_VERSION is missing/,
    )
    assert.deepEqual(await readdir(join(dataDir, 'pgdata')), ['notes.txt'])
  })

  test('a port that is for root', {
    timeout,
    skip: portsAreFree && 'on this machine every user may listen on every port',
  }, async () => {
    const dataDir = await makeOwnFolder('ports')
    const said = await refused({ DATA_DIR: dataDir, PORT: '80' })
    assertSaid(said, /cannot listen on 127\.0\.0\.1:80 \(EACCES\): set PORT or PRIVATE_PORT/)
  })

  test('an address of another machine', { timeout }, async () => {
    const env = { DATA_DIR: await makeOwnFolder('addresses'), HOST: '192.0.2.7', SANDBOX: 'true' }
    assertSaid(await refused(env), /^192\.0\.2\.7:\d+ .* \(EADDRNOTAVAIL\): set HOST/)
  })

  for (const files of [24, 30]) {
    test(`no more than ${files} open files`, {
      timeout,
      skip: process.platform === 'win32' && 'Windows has no limit of open files',
    }, async () => {
      const dataDir = await makeOwnFolder(`files-${files}`)
      const limited = `ulimit -n ${files}; exec "$0" --liftoff-only "$1"`
      const said = await startRefused({
        dataDir,
        runAs,
        words: ['sh', '-c', limited, process.execPath, mainFile],
      })
      assertSaid(said, /no more open files \(EMFILE\): raise the limit/)
    })
  }
})

test('a disk without room for a new database is refused, and nothing of one is left behind', {
  skip: smallDiskLeftOut,
  timeout,
}, async () => {
  const disk = await mountSmallDisk(40)
  const dataDir = join(disk.folder, 'data')
  assertSaid(await startRefused({ dataDir }), /^The disk of DATA_DIR has too little space .* MiB/)
  assert.deepEqual(
    (await readdir(dataDir)).filter((name) => name.startsWith('pgdata')),
    [],
  )
})

test('a user that may make no tables in the database is told what to grant', {
  skip: postgres.leftOut || (postgres.isCluster && 'A cluster has users of its own.'),
  timeout,
}, async (t) => {
  const { close, url } = await postgres.createDatabase()
  const user = `tester_${process.pid}`
  await administer(url, (client) => client.query(`create role ${user} login password '${user}'`))
  t.after(async () => {
    await close()
    await administer(postgres.url ?? '', (client) => client.query(`drop role ${user}`))
  })
  const theirs = new URL(url)
  theirs.username = user
  theirs.password = user
  const said = await startRefused({ env: { DATABASE_URL: theirs.href, SANDBOX: 'true' } })
  assertSaid(
    said,
    /^The user of DATABASE_URL lacks a privilege: .* \(42501\).* grant create on schema public/,
  )
})
