import { globSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cacheFolder } from './folders.ts'

/** Which test files share a process. Those of no folder here have one of their own. */

const root = fileURLToPath(new URL('../../', import.meta.url))

/**
 * By the name of a program: the folders whose files it runs. They begin in this order, those that take longest
 * first, so that none is left to run alone at the end.
 */
const folders = {
  service: ['service'],
  events: [
    'operations/webhooks',
    'operations/events',
    'operations/audit',
    'audit',
    'witness',
    'storage/audit',
    'sdk/audit',
    'outbound',
    'sandbox',
  ],
  cards: [
    'operations/authorizations',
    'operations/cards',
    'operations/card-data',
    'operations/idempotency',
    'sdk',
    'sdk/client',
    'sdk/device',
  ],
  keys: ['operations/keys', 'hsm', 'hsm/pkcs11'],
  web: ['web', 'web/console', 'listeners/console', 'operations/approvals'],
  storage: [
    'support',
    'storage',
    'storage/engine',
    'storage/cards',
    'storage/idempotency',
    'storage/links',
  ],
  cli: ['cli'],
  guides: ['guides', 'scripts', 'package'],
  listeners: [
    'listeners/http',
    'listeners/oauth',
    'listeners/public',
    'listeners/private',
    'operations/clients',
    'service/config',
    'fuzz',
  ],
  iso8583: ['listeners/iso8583', 'crypto', 'domain', 'reference'],
} as const

export type Together = keyof typeof folders

/** Everything that a run is given: programs that run many files, and files that run alone. */
export const testPrograms = async (): Promise<string[]> => {
  const together = Object.keys(folders) as Together[]
  const shared = new Set(together.flatMap(filesOf))
  const others = globSync('test/**/*.test.ts', { cwd: root }).filter((file) => !shared.has(file))
  return [...(await Promise.all(together.map(programOf))), ...others.sort()]
}

/** The runner starts a process by a file, and gives it no word of its own. */
const programOf = async (name: Together): Promise<string> => {
  const program = join(await cacheFolder('programs'), `${name}.mjs`)
  const { href } = new URL('together.ts', import.meta.url)
  await writeFile(program, `import { runTogether } from '${href}'\nrunTogether('${name}')\n`)
  return program
}

export const filesOf = (name: Together): string[] =>
  globSync(
    folders[name].map((folder) => `test/${folder}/*.test.ts`),
    { cwd: root },
  ).sort()
