import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { checkStructure } from '../../scripts/check-structure.ts'

type Tree = Record<string, string>

const plant = (t: TestContext, tree: Tree): string => {
  const root = mkdtempSync(join(tmpdir(), 'pinfold-structure-'))
  t.after(() => rmSync(root, { recursive: true }))
  for (const [path, text] of Object.entries(tree)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  return root
}

const lines = (count: number, line: string): string => `${line}\n`.repeat(count)

const filler = lines(100, '// filler')

/** Every file is in the house that holds nothing else, but for what is exported for nobody. */
const house: Tree = {
  'src/main.ts': `import { readConfig } from './service/config/config.ts'\nimport { run } from './service/run.ts'\nrun(readConfig())\n${filler}`,
  'src/service/run.ts': `import { seal } from '../hsm/software/hsm.ts'\nimport { listen } from '../listeners/public/server.ts'\nexport const run = (config) => listen(config, seal)\n${filler}`,
  'src/service/config/config.ts': `export const readConfig = () => process.env.PORT\n${filler}`,
  'src/listeners/public/server.ts': `import { issue } from '../../operations/cards/issue.ts'\nexport const listen = (...rest: unknown[]) => issue(rest)\n${filler}`,
  'src/operations/cards/issue.ts': `import type { Hsm } from '../../hsm/contract/hsm.ts'\nimport { read, type Connection } from '../../storage/cards/cards.ts'\nexport const issue = (connection: Connection, hsm?: Hsm) => [read, connection, hsm]\n${filler}`,
  'src/storage/cards/cards.ts': `export type Connection = { query: string }\nexport const read = \`select pan from card\`\n${filler}`,
  'src/hsm/contract/hsm.ts': `export type Hsm = { seal: string }\n${filler}`,
  'src/hsm/software/hsm.ts': `import { xor } from '../../crypto/xor.ts'\nexport const seal = xor\n${filler}`,
  'src/crypto/xor.ts': `import { createCipheriv } from 'node:crypto'\nexport const xor = createCipheriv\n${filler}`,
  'src/domain/pan.ts': `import { inspect } from 'node:util'\n// Read with care: select the right one, with or without a mask.\nconst pan = [inspect.custom, 'Select a card', 'TODO is a word in a string', 'with']\n${filler}`,
  'web/demo.ts': `import { device } from '../packages/sdk/device/device.ts'\ndevice()\n`,
  'packages/sdk/device/device.ts': `import { sign } from 'jose'\nexport const device = () => sign\n`,
  'packages/sdk/client/client.ts': `export * from '../client/cards.ts'\n`,
  'packages/sdk/client/generated/openapi.ts': `// written by a tool, and long\n${'export {}\n'.repeat(300)}`,
}

test('a house in order has no fault, and its figures are printed', (t) => {
  const { faults, figures, summary } = checkStructure(plant(t, house))
  assert.deepEqual(faults, [])
  assert.match(
    summary,
    /13 files, \d+ lines, 5 functions; function length: median 1, 90th percentile 1/,
  )
  const values = figures.map(({ name, value }) => `${name}: ${value}`)
  assert.deepEqual(values, [
    'files of src: 10',
    'lines of the median file: 102',
    'files under 30 lines: 0 %',
    'private functions with one caller: 0 %',
    'lines of imports: 1 %',
    'names that two files export: 0',
  ])
})

const forbiddenImports: [title: string, path: string, text: string, fault: string][] = [
  [
    'the API never touches a key',
    'src/listeners/public/x.ts',
    `\n\nimport '../../hsm/software/hsm.ts'`,
    'src/listeners/public/x.ts:3 imports src/hsm/software/hsm.ts: listeners/public may not import hsm/software',
  ],
  [
    'nor by a type',
    'src/listeners/private/x.ts',
    `export type X = import('../../hsm/contract/hsm.ts').Hsm`,
    'src/listeners/private/x.ts:1 imports src/hsm/contract/hsm.ts: listeners/private may not import hsm/contract',
  ],
  [
    'nor late',
    'src/listeners/public/x.ts',
    `export const x = () => import('../../crypto/xor.ts')`,
    'src/listeners/public/x.ts:1 imports src/crypto/xor.ts: listeners/public may not import crypto',
  ],
  [
    'nor by handing on',
    'src/listeners/public/x.ts',
    `export { xor } from '../../crypto/xor.ts'`,
    'src/listeners/public/x.ts:1 imports src/crypto/xor.ts: listeners/public may not import crypto',
  ],
  [
    'operations know the HSM by its contract alone',
    'src/operations/cards/x.ts',
    `import '../../hsm/software/hsm.ts'`,
    'src/operations/cards/x.ts:1 imports src/hsm/software/hsm.ts: operations/cards may not import hsm/software',
  ],
  [
    'listeners know nothing of storage, types included',
    'src/listeners/public/x.ts',
    `import type { Connection } from '../../storage/cards/cards.ts'\ntype X = Connection`,
    'src/listeners/public/x.ts:1 imports src/storage/cards/cards.ts: listeners/public may not import storage/cards',
  ],
  [
    'nobody imports main',
    'src/listeners/public/x.ts',
    `import '../../main.ts'`,
    'src/listeners/public/x.ts:1 imports src/main.ts: listeners/public may not import main',
  ],
  [
    'the environment is read for main alone',
    'src/listeners/http/x.ts',
    `import '../../service/config/config.ts'`,
    'src/listeners/http/x.ts:1 imports src/service/config/config.ts: listeners/http may not import service/config',
  ],
  [
    'the product needs none of its tests',
    'src/hsm/software/x.ts',
    `import '../../../test/x.ts'`,
    'src/hsm/software/x.ts:1 imports test/x.ts: hsm/software may not leave the house',
  ],
  [
    'the SDK needs nothing of the server',
    'packages/sdk/client/x.ts',
    `import '../../../src/domain/pan.ts'`,
    'packages/sdk/client/x.ts:1 imports src/domain/pan.ts: packages/sdk/client may not import domain',
  ],
  [
    'the SDK runs where Node is not',
    'packages/sdk/client/x.ts',
    `import 'node:fs'`,
    'packages/sdk/client/x.ts:1 imports node:fs: packages/sdk/client is pure and may import only jose',
  ],
  [
    'what runs on a device holds nothing of what a client system runs',
    'packages/sdk/device/x.ts',
    `import '../client/client.ts'`,
    'packages/sdk/device/x.ts:1 imports packages/sdk/client/client.ts: packages/sdk/device may not import packages/sdk/client',
  ],
  [
    'the domain has no I/O',
    'src/domain/x.ts',
    `import 'node:fs'`,
    'src/domain/x.ts:1 imports node:fs: domain is pure and may import only node:util, node:crypto',
  ],
]

/** What is wrong with one more file. */
const faultsOfFile = (t: TestContext, path: string, text: string): string[] =>
  checkStructure(plant(t, { ...house, [path]: text })).faults.filter((fault) =>
    fault.startsWith(path),
  )

for (const [title, path, text, fault] of forbiddenImports) {
  test(`forbidden arrow: ${title}`, (t) => {
    assert.deepEqual(faultsOfFile(t, path, `${text}\n`), [fault])
  })
}

const otherFaults: [title: string, path: string, text: string, faults: string[]][] = [
  [
    'a room nobody drew',
    'src/billing/x.ts',
    'export {}',
    ['src/billing/x.ts: there is no room “billing” in the house'],
  ],
  [
    'a folder without a name of the field',
    'src/listeners/public/utils/x.ts',
    'export {}',
    ['src/listeners/public/utils/x.ts: “utils” does not belong to the field'],
  ],
  [
    'a file without one',
    'src/hsm/keys/key-manager.ts',
    'export {}',
    ['src/hsm/keys/key-manager.ts: “key-manager” does not belong to the field'],
  ],
  [
    'SQL outside storage',
    'src/operations/cards/x.ts',
    'export const sql = `\n  update card set pan = $1`',
    ['src/operations/cards/x.ts:1 holds SQL, which belongs in src/storage'],
  ],
  [
    'SQL with a common table',
    'src/listeners/public/x.ts',
    `export const sql = 'with spent as (select 1) select 2'`,
    ['src/listeners/public/x.ts:1 holds SQL, which belongs in src/storage'],
  ],
  [
    'SQL in a template with values',
    'web/x.ts',
    'export const sql = (id: string) => `delete from card where id = $' + '{id}`',
    ['web/x.ts:1 holds SQL, which belongs in src/storage'],
  ],
  [
    'a call past the one way out',
    'src/listeners/oauth/x.ts',
    `import { Agent, request as ask } from 'node:https'\nfetch('a')\nask(Agent, globalThis.fetch)`,
    [1, 2, 3].map((line) => `src/listeners/oauth/x.ts:${line} calls out: only src/outbound may`),
  ],
  [
    'a literal that is spread',
    'src/domain/x.ts',
    'export const x = (y: object) => ({ ...y, ...{ z: 1 } })\nexport const list = [...[1, 2]]',
    [1, 2].map((line) => `src/domain/x.ts:${line} spreads a literal: write its members out`),
  ],
  [
    'a line that is too long',
    'src/domain/x.ts',
    [
      `// ${'long '.repeat(25)}`,
      `// ${'x'.repeat(120)}`,
      `export const table = '${'0f'.repeat(60)}' +`,
      `  '${'0f'.repeat(60)}' +`,
      `  '${'😀 '.repeat(48)}'`,
    ].join('\n'),
    [1, 3].map((line) => `src/domain/x.ts:${line} has more than 100 columns`),
  ],
  [
    'a line of SQL that is too long',
    'database/functions/cards/x.sql',
    `-- short\n-- ${'long '.repeat(25)}\nselect 1\n`,
    ['database/functions/cards/x.sql:2 has more than 100 columns'],
  ],
  [
    'work left undone',
    'packages/sdk/device/x.ts',
    '\n// TODO: this\nexport {}',
    ['packages/sdk/device/x.ts:2 TODO: do it, or file it'],
  ],
]

for (const [title, path, text, faults] of otherFaults) {
  test(`fault: ${title}`, (t) => {
    assert.deepEqual(faultsOfFile(t, path, text), faults)
  })
}

test('the command fails where there is a fault, and not otherwise', (t) => {
  const script = fileURLToPath(new URL('../../scripts/check-structure.ts', import.meta.url))
  const check = (tree: Tree) =>
    spawnSync(process.execPath, [script, plant(t, tree)], { encoding: 'utf8' })
  assert.equal(check(house).status, 0)
  const failed = check({ ...house, 'src/utils/x.ts': 'export {}' })
  assert.equal(failed.status, 1)
  assert.match(failed.stdout, /2 faults; structure: 14 files/)
  assert.match(failed.stderr, /there is no room “utils”/)
})
