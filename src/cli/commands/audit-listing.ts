import { opendir } from 'node:fs/promises'

/** Names of what is in a folder, but for hidden ones; none where there is no such folder. */
export async function listNames(folder: string): Promise<string[]> {
  const names: string[] = []
  try {
    for await (const { name } of await opendir(folder)) {
      if (!name.startsWith('.')) names.push(name)
    }
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
  }
  return names.sort()
}
