import { mkdir, readFile, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('../../node_modules/.cache/pinfold', import.meta.url))

/** What runs of the tests keep for the next: beside the packages, so that it goes with them. */
export const cacheFolder = async (name: string): Promise<string> => {
  const path = join(folder, name)
  await mkdir(path, { recursive: true })
  return path
}

/** Ten times what a whole run needs. */
const bytesLeast = 8 * 2 ** 30

/**
 * Where a run keeps its files, those of its databases too. On a disk of memory where the machine
 * has a large one: what a test writes must survive the end of a process and no power cut. On a real
 * disk each start waits for it a dozen times, and a copy of a database costs ten times the
 * processor.
 */
export const chooseRoot = async (): Promise<string> => {
  const disk = '/dev/shm'
  const { bavail, bsize } = await statfs(disk).catch(() => ({ bavail: 0, bsize: 0 }))
  const isLarge = bavail * bsize >= bytesLeast
  return isLarge && (await mayRunPrograms(disk)) ? disk : tmpdir()
}

/** Some machines run nothing from there, and tests run what they have made. */
const mayRunPrograms = async (disk: string): Promise<boolean> => {
  const mounts = await readFile('/proc/mounts', 'utf8').catch(() => '')
  const options = mounts
    .split('\n')
    .find((line) => line.split(' ')[1] === disk)
    ?.split(' ')[3]
  return !options?.split(',').includes('noexec')
}
