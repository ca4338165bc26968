import assert from 'node:assert/strict'
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { openProject, type Project, packSdk } from '../../support/packed-sdk.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))

let project: Project
let packed: Buffer<ArrayBuffer>
let consumer: string
before(async () => {
  project = await openProject()
  const file = await packSdk(project)
  packed = await readFile(file)
  consumer = join(project.folder, '../consumer')
  await mkdir(consumer)
  await writeFile(join(consumer, 'package.json'), '{ "private": true }')
  await project.run(`npm install ${file}`, consumer)
})

test('the package is in order for those who resolve it', async () => {
  const { messages, pkg } = await publint({ pack: { tarball: packed.buffer }, strict: true })
  assert.deepEqual(
    messages.map((message) => formatMessage(message, pkg, { color: false })),
    [],
  )
})

test('its types are found by every way of resolving that knows ES modules, and by no other', async () => {
  const analysis = await checkPackage(createPackageFromTarballData(packed))
  assert.ok(analysis.types)
  const { entrypoints, problems } = analysis
  // ES modules only, which CommonJS loads from Node.js 20.19 on; `node10` knows no exports at all.
  const known = { node10: 'NoResolution', 'node16-cjs': 'CJSResolvesToESM' }
  const told = problems.map(({ kind, ...at }) =>
    'resolutionKind' in at ? [at.resolutionKind, kind].join(': ') : kind,
  )
  assert.deepEqual(
    [...new Set(told)].sort(),
    Object.entries(known).map(([resolution, kind]) => `${resolution}: ${kind}`),
  )
  for (const entry of ['.', './admin', './audit', './device', './webhooks']) {
    const { bundler, 'node16-esm': modules } = entrypoints[entry]?.resolutions ?? assert.fail(entry)
    assert.ok(bundler.resolution?.isTypeScript && modules.resolution?.isTypeScript, entry)
  }
})

test('only what it needs is in it', async () => {
  const listed = await project.run('tar tzf pinfold-sdk-*.tgz')
  const files = listed.trim().split('\n')
  const expected = /^package\/(?:dist\/.+\.(?:js|d\.ts)|package\.json|README\.md|LICENSE)$/
  assert.deepEqual(
    files.filter((file) => !expected.test(file)),
    [],
  )
  const { dependencies } = JSON.parse(
    await readFile(join(root, 'packages/sdk/package.json'), 'utf8'),
  )
  assert.deepEqual(Object.keys(dependencies), ['@noble/hashes', 'jose'])
})

test('the package is built and checked by the least TypeScript that its README names', async () => {
  const readme = await readFile(join(root, 'packages/sdk/README.md'), 'utf8')
  const manifest = JSON.parse(await readFile(join(root, 'packages/sdk/package.json'), 'utf8'))
  const [, least] = /TypeScript ([0-9]+\.[0-9]+) or later/.exec(readme) ?? []
  assert.equal(manifest.devDependencies.typescript.split('.').slice(0, 2).join('.'), least)
})

const compilers: [name: string, modules: string, options: string][] = [
  ['the least TypeScript', 'packages/sdk/node_modules', '--module nodenext'],
  ['TypeScript 7', 'node_modules', '--module esnext --moduleResolution bundler'],
]

for (const [name, modules, options] of compilers) {
  test(`${name} allows what is meant and refuses what is not, without a library of Node`, async () => {
    await cp(join(root, 'test/packages/sdk/uses.mts'), join(consumer, 'uses.mts'))
    const strict = '--noEmit --strict --exactOptionalPropertyTypes --target es2022'
    const compiler = `node ${join(root, modules, 'typescript/bin/tsc')} ${strict} ${options}`
    // Every declaration of the package is checked, and not those of the compiler itself.
    const libraries = '--lib es2023,dom,dom.iterable --skipDefaultLibCheck'
    const told = await project.run(`${compiler} ${libraries} uses.mts || true`, consumer)
    assert.equal(told, '')
  })
}
