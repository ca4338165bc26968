/** Which test files share a process. Those of no folder here have one of their own. */
import { globSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))

/**
 * By the name of the program in `test/together`: the folders whose files it runs. They begin in this order, those that
 * take longest first, so that none is left to run alone at the end.
 */
const folders = {
  service: ['service'],
  keys: ['operations/keys', 'hsm', 'hsm/pkcs11'],
  authorizations: ['operations/authorizations'],
  cli: ['cli'],
  webhooks: ['operations/webhooks', 'operations/events', 'outbound', 'sandbox'],
  cards: [
    'operations/cards',
    'operations/card-data',
    'operations/idempotency',
    'sdk',
    'sdk/client',
    'sdk/device',
  ],
  guides: ['guides', 'scripts'],
  web: ['web'],
  http: ['listeners/http', 'listeners/oauth'],
  storage: ['storage', 'storage/engine', 'storage/cards', 'storage/idempotency'],
  listeners: ['listeners/public', 'listeners/private', 'operations/clients', 'service/config'],
  rules: ['crypto', 'domain', 'reference'],
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
