/** What runs of the tests keep for the next: beside the packages, so that it goes with them. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('../../node_modules/.cache/pinfold', import.meta.url))

export const cacheFolder = async (name: string): Promise<string> => {
  const path = join(folder, name)
  await mkdir(path, { recursive: true })
  return path
}
