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

const house: Tree = {
  'src/main.ts': `import { read } from './config.ts'\nimport { run } from './service/run.ts'\nrun(read())\n`,
  'src/service/run.ts': `import { listen } from '../api/api.ts'\nimport { seal } from '../hsm/software-hsm.ts'\nexport const run = (config) => listen(config, seal)\n`,
  'src/config.ts': `export const read = () => process.env.PORT\n`,
  'src/errors.ts': `export class Problem extends Error {}\n`,
  'src/api/api.ts': `import type { Connection } from '../storage/database.ts'\nimport { issue } from '../issuing/issue.ts'\nexport const listen = (...rest: unknown[]) => rest\nexport const run = (connection: Connection) => issue(connection)\n`,
  'src/issuing/issue.ts': `import type { Hsm } from '../hsm/hsm.ts'\nimport { read, type Connection } from '../storage/database.ts'\nexport const issue = (connection: Connection, hsm?: Hsm) => [read, connection, hsm]\n`,
  'src/storage/database.ts': `export type Connection = { query: string }\nexport const read = \`select pan from card\`\n`,
  'src/hsm/hsm.ts': `export type Hsm = { seal: string }\n`,
  'src/hsm/software-hsm.ts': `import { xor } from '../crypto/xor.ts'\nexport const seal = xor\n`,
  'src/crypto/xor.ts': `import { createCipheriv } from 'node:crypto'\nexport const xor = createCipheriv\n`,
  'src/domain/pan.ts': `import { inspect } from 'node:util'\n// Read with care: select the right one, with or without a mask.\nexport const pan = [inspect.custom, 'Select a card', 'TODO is a word in a string', 'with']\n`,
  'web/demo.ts': `import { device } from '../sdk/device/device.ts'\ndevice()\n`,
  'sdk/device/device.ts': `import { sign } from 'jose'\nexport const device = () => sign\n`,
  'sdk/client/client.ts': `export * from '../client/cards.ts'\n`,
  'sdk/client/generated/openapi.ts': `// written by a tool, and long\n${'export {}\n'.repeat(300)}`,
}

test('a house in order has no fault, and its figures are told', (t) => {
  const { faults, summary } = checkStructure(plant(t, house))
  assert.deepEqual(faults, [])
  assert.match(
    summary,
    /14 files, \d+ lines, 6 functions; function length: median 1, 90th percentile 1/,
  )
})

const forbiddenImports: [title: string, path: string, text: string, fault: string][] = [
  [
    'the API never touches a key',
    'src/api/x.ts',
    `\n\nimport '../hsm/software-hsm.ts'`,
    'src/api/x.ts:3 imports src/hsm/software-hsm.ts: api may not import hsm',
  ],
  [
    'nor by a type',
    'src/private-api/x.ts',
    `export type X = import('../hsm/hsm.ts').Hsm`,
    'src/private-api/x.ts:1 imports src/hsm/hsm.ts: private-api may not import hsm',
  ],
  [
    'nor late',
    'src/api/x.ts',
    `export const x = () => import('../crypto/xor.ts')`,
    'src/api/x.ts:1 imports src/crypto/xor.ts: api may not import crypto',
  ],
  [
    'nor by handing on',
    'src/api/x.ts',
    `export { xor } from '../crypto/xor.ts'`,
    'src/api/x.ts:1 imports src/crypto/xor.ts: api may not import crypto',
  ],
  [
    'operations know the HSM by its contract alone',
    'src/issuing/x.ts',
    `import '../hsm/software-hsm.ts'`,
    'src/issuing/x.ts:1 imports src/hsm/software-hsm.ts: issuing may import only hsm/hsm.ts of hsm',
  ],
  [
    'listeners know storage by types alone',
    'src/api/x.ts',
    `import { read } from '../storage/database.ts'\nread`,
    'src/api/x.ts:1 imports src/storage/database.ts: api may import only types of storage/database.ts',
  ],
  [
    'nobody imports main',
    'src/api/x.ts',
    `import '../main.ts'`,
    'src/api/x.ts:1 imports src/main.ts: api may not import main',
  ],
  [
    'the environment is read for main alone',
    'src/http/x.ts',
    `import '../config.ts'`,
    'src/http/x.ts:1 imports src/config.ts: http may not import config',
  ],
  [
    'the product needs none of its tests',
    'src/hsm/x.ts',
    `import '../../test/x.ts'`,
    'src/hsm/x.ts:1 imports test/x.ts: hsm may not leave the house',
  ],
  [
    'the SDK needs nothing of the server',
    'sdk/client/x.ts',
    `import '../../src/errors.ts'`,
    'sdk/client/x.ts:1 imports src/errors.ts: sdk/client may not import errors',
  ],
  [
    'the SDK runs where Node is not',
    'sdk/client/x.ts',
    `import 'node:fs'`,
    'sdk/client/x.ts:1 imports node:fs: sdk/client is pure and may import only jose',
  ],
  [
    'what runs on a device holds nothing of what a client system runs',
    'sdk/device/x.ts',
    `import '../client/client.ts'`,
    'sdk/device/x.ts:1 imports sdk/client/client.ts: sdk/device may not import sdk/client',
  ],
  [
    'the domain has no I/O',
    'src/domain/x.ts',
    `import 'node:fs'`,
    'src/domain/x.ts:1 imports node:fs: domain is pure and may import only node:util, i18n-iso-countries',
  ],
]

for (const [title, path, text, fault] of forbiddenImports) {
  test(`forbidden arrow: ${title}`, (t) => {
    assert.deepEqual(checkStructure(plant(t, { ...house, [path]: `${text}\n` })).faults, [fault])
  })
}

const otherFaults: [title: string, path: string, text: string, faults: string[]][] = [
  [
    'a file over its size',
    'src/api/x.ts',
    lines(251, 'export {}'),
    ['src/api/x.ts: 251 lines, 250 allowed'],
  ],
  [
    'a function over its size',
    'src/api/x.ts',
    `\nexport const long = () => {\n${lines(59, '  // line')}}\n`,
    ['src/api/x.ts:2 long has 61 lines, 60 allowed'],
  ],
  [
    'a method over its size',
    'web/x.ts',
    `class Long {\n  run() {\n${lines(60, '    // line')}  }\n}\n`,
    ['web/x.ts:2 run has 62 lines, 60 allowed'],
  ],
  [
    'a room nobody drew',
    'src/billing/x.ts',
    'export {}',
    ['src/billing/x.ts: there is no room “billing” in the house'],
  ],
  [
    'a folder without a name of the field',
    'src/api/utils/x.ts',
    'export {}',
    ['src/api/utils/x.ts: “utils” is no name of the field'],
  ],
  [
    'a file without one',
    'src/hsm/key-manager.ts',
    'export {}',
    ['src/hsm/key-manager.ts: “key-manager” is no name of the field'],
  ],
  [
    'a barrel',
    'src/api/index.ts',
    `export * from './api.ts'`,
    ['src/api/index.ts: no barrel files', 'src/api/index.ts:1 export *: no barrel files'],
  ],
  [
    'SQL outside storage',
    'src/issuing/x.ts',
    'export const sql = `\n  update card set pan = $1`',
    ['src/issuing/x.ts:1 holds SQL, which belongs in src/storage'],
  ],
  [
    'SQL with a common table',
    'src/api/x.ts',
    `export const sql = 'with spent as (select 1) select 2'`,
    ['src/api/x.ts:1 holds SQL, which belongs in src/storage'],
  ],
  [
    'SQL in a template with values',
    'web/x.ts',
    'export const sql = (id: string) => `delete from card where id = $' + '{id}`',
    ['web/x.ts:1 holds SQL, which belongs in src/storage'],
  ],
  [
    'the environment elsewhere',
    'src/main.ts',
    `console.log(process['env'])`,
    ['src/main.ts:1 reads process.env: only src/config.ts may'],
  ],
  [
    'a call past the one way out',
    'src/oauth/x.ts',
    `import { Agent, request as ask } from 'node:https'\nfetch('a')\nask(Agent, globalThis.fetch)`,
    [1, 2, 3].map((line) => `src/oauth/x.ts:${line} calls out: only src/outbound may`),
  ],
  [
    'any',
    'src/domain/x.ts',
    'export const x = (y: any[]) => y',
    ['src/domain/x.ts:1 says any: say what it is, or unknown'],
  ],
  [
    'work left undone',
    'sdk/device/x.ts',
    '\n// TODO: this\nexport {}',
    ['sdk/device/x.ts:2 TODO: do it, or file it'],
  ],
]

for (const [title, path, text, faults] of otherFaults) {
  test(`fault: ${title}`, (t) => {
    assert.deepEqual(checkStructure(plant(t, { ...house, [path]: text })).faults, faults)
  })
}

test('imports that run in a circle are named once, with the way', (t) => {
  const circle = {
    'src/domain/a.ts': `import './b.ts'\n`,
    'src/domain/b.ts': `import './c.ts'\n`,
    'src/domain/c.ts': `import type {} from './a.ts'\n`,
  }
  assert.deepEqual(checkStructure(plant(t, { ...house, ...circle })).faults, [
    'src/domain/a.ts → src/domain/b.ts → src/domain/c.ts → src/domain/a.ts: imports run in a circle',
  ])
})

test('the command fails where there is a fault, and not otherwise', (t) => {
  const script = fileURLToPath(new URL('../../scripts/check-structure.ts', import.meta.url))
  const check = (tree: Tree) =>
    spawnSync(process.execPath, [script, plant(t, tree)], { encoding: 'utf8' })
  assert.equal(check(house).status, 0)
  const failed = check({ ...house, 'src/utils/x.ts': 'export {}' })
  assert.equal(failed.status, 1)
  assert.match(failed.stdout, /2 faults; structure: 15 files/)
  assert.match(failed.stderr, /there is no room “utils”/)
})
