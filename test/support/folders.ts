import { mkdir, statfs } from 'node:fs/promises'
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
 * Where the data directories of a run lie. On a disk of memory where the machine has a large one: what a test
 * writes must survive the end of a process and no power cut, and each start waits for a real disk a dozen times.
 */
export const chooseDataRoot = async (): Promise<string> => {
  const disk = '/dev/shm'
  const { bavail, bsize } = await statfs(disk).catch(() => ({ bavail: 0, bsize: 0 }))
  return bavail * bsize >= bytesLeast ? disk : tmpdir()
}

/** The folder of this run, which goes with it. */
export const dataRoot = (): string => process.env.TEST_DATA_ROOT ?? tmpdir()
