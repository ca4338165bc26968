/** Which test files share a process. Those of no folder here have one of their own. */
import { globSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** By the name of the program in `test/together`: the folders whose files it runs. */
const folders = {
  api: ['api', 'administration', 'private-api', 'config'],
  authorizing: ['authorizing'],
  delivery: ['delivery', 'outbound', 'sandbox'],
  guides: ['guides', 'cli', 'scripts'],
  http: ['http', 'oauth'],
  issuing: ['issuing', 'card-data', 'sdk', 'sdk/client', 'sdk/device'],
  keys: ['key-management', 'hsm', 'hsm/pkcs11'],
  rules: ['crypto', 'domain'],
  service: ['service', 'storage'],
  web: ['web'],
} as const

export type Together = keyof typeof folders

/** Everything that `node --test` is given: programs that run many files, and files that run alone. */
export const testPrograms = (): string[] => {
  const together = Object.keys(folders) as Together[]
  const shared = new Set(together.flatMap(filesOf))
  const others = globSync('test/**/*.test.ts', { cwd: root }).filter((file) => !shared.has(file))
  return [...together.map((name) => `test/together/${name}.ts`), ...others.sort()]
}

export const filesOf = (name: Together): string[] =>
  globSync(
    folders[name].map((folder) => `test/${folder}/*.test.ts`),
    { cwd: root },
  ).sort()
