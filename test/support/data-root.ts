/** Where the data directories of tests lie. */
import { statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'

/** Ten times what a whole run needs. */
const bytesLeast = 8 * 2 ** 30

/**
 * A disk of memory where the machine has a large one: what a test writes need survive the end of a process, and
 * no power cut, and each start would wait for a real disk a dozen times.
 */
export const chooseDataRoot = async (): Promise<string> => {
  const disk = '/dev/shm'
  const { bavail, bsize } = await statfs(disk).catch(() => ({ bavail: 0, bsize: 0 }))
  return bavail * bsize >= bytesLeast ? disk : tmpdir()
}

/** The folder of this run, which goes with it. */
export const dataRoot = (): string => process.env.TEST_DATA_ROOT ?? tmpdir()
