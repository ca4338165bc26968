import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { createBillOfMaterials } from '../../scripts/package/bill-of-materials.ts'
import { type Lock, readLock, runtimePackages } from '../../scripts/package/lock.ts'
import { root } from '../../scripts/package/program.ts'
import { formatLine } from '../../src/service/log.ts'
import { unpackDatabase } from '../../src/storage/engine/made-database.ts'
import { makePgliteFolder } from '../../src/storage/engine/pglite.ts'
import { followFragments, walkPages } from '../documents/page.ts'
import { shortLived } from '../support/node-flags.ts'
import { pgliteImage } from '../support/pglite-image.ts'
import { bareEnvironment, makeFolder, type Program, startProgram } from '../support/process.ts'
import { installPackage } from './installed.ts'

const execute = promisify(execFile)

let folder: string
let launcher: string
let packed: string
let program: Program
before(async () => {
  ;({ folder, launcher, packed } = await installPackage())
  // An empty data directory: the database that comes along is all that there is.
  program = await startProgram({
    dataDir: await makeFolder(),
    words: [process.execPath, ...shortLived, launcher, 'start'],
    env: { RATE_LIMIT: 'off' },
  })
})

/** Runs a command of the package in its folder. */
const pinfold = (
  words: readonly string[],
  node = process.execPath,
  flags: readonly string[] = [],
) =>
  execute(node, [...flags, launcher, ...words], { cwd: folder, env: bareEnvironment }).then(
    ({ stderr, stdout }) => ({ code: 0, stderr, stdout }),
    ({ code, stderr, stdout }) =>
      ({ code, stderr, stdout }) as { code: number; stderr: string; stdout: string },
  )

test('the installed package serves on its own database, and its folder has a client', async () => {
  const { stdout } = await pinfold(['init', '--json'])
  const { kept, written } = JSON.parse(stdout)
  assert.deepEqual(written, ['pinfold.env', 'client.mjs', 'compose.yaml', '.env', '.gitignore'])
  assert.deepEqual(kept, [])
  assert.equal(statSync(join(folder, '.env')).mode & 0o777, 0o600)
  const client = await readFile(join(folder, 'client.mjs'), 'utf8')
  assert.ok(client.trimEnd().split('\n').length <= 22)
  const sandboxFile = join(program.dataDir, 'sandbox.json')
  const card = await execute(process.execPath, ['client.mjs', sandboxFile], { cwd: folder })
  assert.match(card.stdout, /^Card [0-9]{10} is Active: 400000\*{6}[0-9]{4}, ANA LIM\.\n$/)
  // The system identifier, in the first bytes: nobody made another database.
  const made = join(await pgliteImage('empty'), 'global/pg_control')
  const used = join(program.dataDir, 'pgdata/global/pg_control')
  assert.deepEqual(readFileSync(used).subarray(0, 8), readFileSync(made).subarray(0, 8))

  const again = JSON.parse((await pinfold(['init', '--json'])).stdout)
  assert.deepEqual([again.written, again.kept], [[], written])
  assert.equal(await readFile(join(folder, 'client.mjs'), 'utf8'), client)
})

test('two first starts of a clone unpack the one database that npm ci made', async () => {
  await execute(process.execPath, [join(root, 'scripts/prepare.mjs')])
  const identifiers = await Promise.all(
    ['one', 'another'].map(async (name) => {
      const made = join(await makeFolder(), name)
      await makePgliteFolder(made)
      return readFileSync(join(made, 'global/pg_control')).subarray(0, 8).toString('hex')
    }),
  )
  assert.equal(identifiers[0], identifiers[1])
})

test('pages of the package are made of JavaScript that is there', async () => {
  for (const [address, atLeast] of [
    [`${program.baseUrl}/demo`, 11],
    [`${program.privateUrl}/audit`, 5],
  ] as const) {
    const page = await (await fetch(address)).text()
    const modules = [...page.matchAll(/(?:src|href)="(\/\w+\/assets\/[^"]+\.[jt]s)"/g)]
    assert.ok(modules.length >= atLeast, page)
    for (const [, path = ''] of modules) {
      assert.match(path, /\.js$/)
      const answer = await fetch(new URL(path, address))
      assert.equal(answer.status, 200, path)
      assert.doesNotMatch(await answer.text(), /from '[^']*\.ts'/)
    }
  }
})

test('the package serves its documents, and every link in them is alive', async () => {
  const { files, pages } = await walkPages(async (address) => {
    const answer = await fetch(`${program.baseUrl}${address}`)
    const { headers, status } = answer
    return { status, headers: Object.fromEntries(headers), text: await answer.text() }
  })
  assert.ok(pages.size > 100, `${pages.size}`)
  assert.equal(files.get('/docs/assets/web/documents/main.js'), 'text/javascript; charset=utf-8')
  assert.deepEqual(followFragments(pages).dead, [])
})

test('no script of the package names a source, and every one that it names is there', () => {
  const scripts = join(folder, 'node_modules/pinfold/dist/program')
  const names = globSync('**/*.js', { cwd: scripts })
  assert.ok(names.length > 350)
  for (const name of names) {
    const text = readFileSync(join(scripts, name), 'utf8')
    const named = text.matchAll(/(?:from |import\(|URL\()'(\.[^']+)'/g)
    for (const [, path = ''] of named) {
      if (!/\.\w+$/.test(path)) continue
      assert.ok(existsSync(new URL(path, pathToFileURL(join(scripts, name)))), `${name}: ${path}`)
    }
    assert.doesNotMatch(text, /(?:from |import\(|URL\()'[^']*\.ts'/)
  }
})

test('a stack names line and column of the source, by itself and by the map', async () => {
  const scripts = join(folder, 'node_modules/pinfold/dist/program')
  const file = join(scripts, 'src/domain/pan.js')
  const source = await readFile(join(root, 'src/domain/pan.ts'), 'utf8')
  const script = await readFile(file, 'utf8')
  const sourceLines = source.split('\n')
  const map = JSON.parse(await readFile(`${file}.map`, 'utf8'))
  assert.deepEqual([map.sources, map.sourcesContent], [['pan.ts'], [source]])
  const { SourceMap } = await import('node:module')
  const found = new SourceMap(map)
  let words = 0
  for (const [line, text] of script.split('\n').entries()) {
    if (text.startsWith('//# sourceMappingURL')) continue
    for (const { 0: word, index } of text.matchAll(/[A-Za-z]{3,}/g)) {
      assert.equal(sourceLines[line]?.slice(index, index + word.length), word)
      const entry = found.findEntry(line, index) as { originalLine: number; originalColumn: number }
      assert.ok(entry.originalLine === line && entry.originalColumn <= index)
      words += 1
    }
  }
  assert.ok(words > 300)
})

test('a runtime that lacks something is refused in a sentence that names it, before anything is loaded', async () => {
  const { code, stderr } = await pinfold(['start'], process.execPath, ['--no-experimental-sqlite'])
  assert.equal(code, 3)
  assert.match(
    stderr,
    /^This Node\.js \(\S+, \S+\) lacks SQLite \(node:sqlite\), which locks the data directory\.\n$/,
  )
})

test('what node is too old for is said in one sentence', async (t) => {
  const old = process.env.TEST_OLD_NODE ?? '/usr/bin/node'
  const version = await execute(old, ['--version']).then(
    ({ stdout }) => stdout.trim(),
    () => null,
  )
  if (version === null || Number(version.slice(1).split('.')[0]) >= 22) {
    t.skip(`no older Node: ${version ?? 'none'} at ${old}; TEST_OLD_NODE names one`)
    return
  }
  const { code, stderr, stdout } = await pinfold(['start'], old)
  assert.deepEqual(
    { code, stderr, stdout },
    {
      code: 3,
      stdout: '',
      stderr: `Pinfold needs Node.js 22.13 or later; this is ${version.slice(1)}.\n`,
    },
  )
})

test('pinfold.env is read in the folder of a command, and the environment goes before it', async () => {
  const elsewhere = await makeFolder()
  const env = { ...bareEnvironment, LOG_LEVEL: 'warn' }
  await mkdir(join(elsewhere, 'sub'))
  await promisify(execFile)(
    'sh',
    ['-c', 'printf "PORT=none\\nLOG_LEVEL=nonsense\\n" > pinfold.env'],
    { cwd: elsewhere },
  )
  const outcome = await execute(process.execPath, [launcher, 'doctor', '--json'], {
    cwd: elsewhere,
    env,
  }).catch((error) => error as { stdout: string })
  const findings: { check: string; found: string }[] = JSON.parse(outcome.stdout).findings
  const faults = findings.filter(({ check }) => check === 'configuration').map(({ found }) => found)
  assert.equal(faults.length, 1)
  assert.match(faults[0] ?? '', /^PORT /)
})

test('a database is unpacked as it was packed', async () => {
  const image = await pgliteImage('empty')
  const copy = await makeFolder()
  await unpackDatabase(await readFile(packed), copy)
  const filesOf = (path: string) => globSync('**/*', { cwd: path }).sort()
  assert.deepEqual(filesOf(copy), filesOf(image))
  for (const name of filesOf(image)) {
    const [one, other] = [join(image, name), join(copy, name)]
    if (statSync(one).isDirectory()) continue
    assert.ok(readFileSync(one).equals(readFileSync(other)), name)
    assert.equal(statSync(other).mode & 0o077, 0)
  }
})

test('the bill of materials has every locked package with its digest', async () => {
  const lock = await readLock()
  const bill = JSON.parse(createBillOfMaterials(lock))
  const urls = new Set(bill.components.map(({ purl }: { purl: string }) => purl))
  for (const [path, { version }] of runtimePackages(lock)) {
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
    assert.ok(urls.has(`pkg:npm/${name.replace('@', '%40')}@${version}`), name)
  }
  assert.ok(!urls.has('pkg:npm/typescript@7.0.2'))
  const refs = new Set([...urls, bill.metadata.component.purl])
  for (const { dependsOn, ref } of bill.dependencies) {
    assert.ok(
      [ref, ...dependsOn].every((each) => refs.has(each)),
      ref,
    )
  }
  const [one] = runtimePackages(lock)
  assert.ok(one)
  const changed = (locked: object): Lock => ({
    packages: { ...lock.packages, [one[0]]: { ...one[1], ...locked } },
  })
  assert.throws(() => createBillOfMaterials(changed({ integrity: '' })), /no digest/)
  assert.throws(
    () => createBillOfMaterials(changed({ license: 'GPL-3.0-only' })),
    /under GPL-3\.0-only/,
  )
})

test('every package of the lock file has a digest, which npm ci holds it to', async () => {
  const { packages } = await readLock()
  const without = Object.entries(packages).filter(
    ([path, { integrity, link }]) => path.includes('node_modules/') && !link && !integrity,
  )
  assert.deepEqual(
    without.map(([path]) => path),
    [],
  )
})

test('on a terminal a line of the log is words, and no text of others moves its cursor', () => {
  const time = '2026-11-23T10:00:00.000Z'
  const line = { level: 30, time, msg: 'answered', route: '/cards', status: 200, note: 'a "b"' }
  assert.match(
    formatLine(line),
    /^\d\d:\d\d:00 answered route=\/cards status=200 note="a \\"b\\""\n$/,
  )
  const ofDatabase = { type: 'error', code: '53100', cause: { type: 'Error' } }
  const full = formatLine({ level: 40, time, msg: 'not kept', err: ofDatabase })
  assert.match(full, /WARN not kept type=error code=53100 cause=\{"type":"Error"\}\n$/)
  const err = { stack: 'Error: \u001b[2J\n    at here' }
  assert.match(
    formatLine({ level: 50, time, msg: 'broke', err }),
    /^\d\d:\d\d:00 ERROR broke\n {2}Error: \\u001b\[2J\n {6}at here\n$/,
  )
})
