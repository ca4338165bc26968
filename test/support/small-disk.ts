import { execFileSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, truncateSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atEndOfFile } from './end-of-file.ts'
import { reachableTemporaryFolder, unprivilegedUser } from './postgres-binaries.ts'

/**
 * A file system of a few megabytes that can be filled, and emptied again.
 *
 * ```ts
 * test('…', { skip: smallDiskLeftOut }, async () => {
 *   const disk = await mountSmallDisk(120)
 *   disk.fill()
 * ```
 */

/** Why there is none, or false: only root may mount one, and not in every container. */
export const smallDiskLeftOut = await leftOut()

async function leftOut(): Promise<string | false> {
  const folder = mkdtempSync(join(tmpdir(), 'pinfold-mount-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder], { stdio: 'ignore' })
    execFileSync('umount', [folder])
    return false
  } catch {
    return 'only root may mount a small file system, and here it may not or is not root'
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const mounted = new Set<string>()

atEndOfFile(() => {
  for (const folder of mounted) {
    execFileSync('umount', ['--lazy', folder])
    rmSync(folder, { recursive: true, force: true })
    mounted.delete(folder)
  }
})

/** Mounts one for the servers of the tests; it goes with the file. */
export const mountSmallDisk = async (megabytes: number) => {
  const runAs = await unprivilegedUser()
  const parent = await reachableTemporaryFolder(runAs)
  const folder = mkdtempSync(join(parent, 'pinfold-disk-'))
  const options = `size=${megabytes}m,mode=700,uid=${runAs?.uid ?? 0},gid=${runAs?.gid ?? 0}`
  execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder])
  mounted.add(folder)
  const ballast = join(folder, 'ballast')
  return {
    folder,
    /** Takes all that is free. */
    fill() {
      const file = openSync(ballast, 'a')
      const page = Buffer.alloc(4_096)
      try {
        while (writeSync(file, page) === page.length);
      } catch (error) {
        if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error
      } finally {
        closeSync(file)
      }
    },
    /** Gives it back. */
    empty() {
      truncateSync(ballast)
    },
  }
}
