import { globSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cacheFolder } from './folders.ts'

/** The programs that run the test files, and the order in which each comes to them. */

const root = fileURLToPath(new URL('../../', import.meta.url))

/**
 * By the name of a program: the folders whose files it comes to first, those that take longest before the others. As
 * parts that share a process use the same modules, what is compiled for one file serves the next.
 */
const folders = {
  service: ['service', 'cli', 'service/config'],
  cards: [
    'operations/authorizations',
    'operations/cards',
    'operations/card-data',
    'operations/idempotency',
    'storage/cards',
    'storage/idempotency',
    'listeners/iso8583',
    'crypto',
    'domain',
    'reference',
  ],
  keys: ['operations/keys', 'hsm/pkcs11', 'hsm', 'guides', 'package', 'scripts', 'fuzz'],
  events: [
    'audit',
    'operations/webhooks',
    'operations/audit-log',
    'operations/events',
    'storage/engine',
    'storage',
    'storage/audit-log',
    'storage/links',
    'packages/audit',
    'packages/sdk',
    'packages/sdk/client',
    'packages/sdk/device',
    'witness',
    'outbound',
    'sandbox',
    'support',
  ],
  web: [
    'web',
    'web/console',
    'packages/card-element',
    'examples',
    'console',
    'operations/approvals',
    'operations/clients',
    'operations/products',
    'listeners/private',
    'listeners/public',
    'listeners/oauth',
    'listeners/http',
  ],
} as const

export type TestProgram = keyof typeof folders

const names = Object.keys(folders) as TestProgram[]

/** All test files, in the order in which this program comes to them: its own first, then those of the programs after it. */
export const filesFor = (name: TestProgram): string[] => {
  const at = names.indexOf(name)
  const inTurn = [...names.slice(at), ...names.slice(0, at)].flatMap((each) => folders[each])
  const patterns = [...inTurn.map((folder) => `test/${folder}/*.test.ts`), 'test/**/*.test.ts']
  return [...new Set(patterns.flatMap((pattern) => globSync(pattern, { cwd: root }).sort()))]
}

/** The runner starts a process by a file, and gives it no word of its own. */
export const testPrograms = async (): Promise<string[]> => {
  const folder = await cacheFolder('programs')
  const { href } = new URL('together.ts', import.meta.url)
  return Promise.all(
    names.map(async (name) => {
      const program = join(folder, `${name}.mjs`)
      await writeFile(program, `import { runTogether } from '${href}'\nrunTogether('${name}')\n`)
      return program
    }),
  )
}
