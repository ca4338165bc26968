/** Test files that run one after the other in one process. */
import { after, mock, test } from 'node:test'
import { endFile } from './end-of-file.ts'

/**
 * Runs test files, each as a test that is called as its path. What a file leaves open is closed
 * before the next one begins.
 * @param paths from the root of the project.
 */
export function runFiles(paths: readonly string[]): void {
  for (const path of paths) {
    test(path, async () => {
      await import(new URL(`../../${path}`, import.meta.url).href)
      // After what the file itself does when its tests have ended.
      after(endFile)
      after(() => mock.reset())
    })
  }
}
