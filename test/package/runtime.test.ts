/** A clone whose bundled Node is not there: what its commands say on another Node. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { bareEnvironment, makeFolder } from '../support/process.ts'

const projectFolder = fileURLToPath(new URL('../../', import.meta.url))

/**
 * A clone of the launcher alone, with what npm installs of the package `node` when it runs no
 * install script.
 */
async function makeClone({ installed = true } = {}): Promise<string> {
  const folder = await makeFolder()
  await cp(join(projectFolder, 'bin'), join(folder, 'bin'), { recursive: true })
  await mkdir(join(folder, 'scripts'))
  await cp(
    join(projectFolder, 'scripts/check-runtime.mjs'),
    join(folder, 'scripts/check-runtime.mjs'),
  )
  await mkdir(join(folder, 'src/cli'), { recursive: true })
  await writeFile(join(folder, 'src/cli/pinfold.ts'), "console.log('started' satisfies string)\n")
  const ownPackage = join(folder, 'node_modules/node')
  await mkdir(ownPackage, { recursive: true })
  if (installed) await writeFile(join(ownPackage, 'package.json'), '{"name":"node"}')
  return folder
}

/** Runs a file on a Node that says it has this version. */
const runAs = (
  version: string,
  path: string,
): Promise<{ code: unknown; stdout: string; stderr: string }> =>
  new Promise((resolve) => {
    const versions = `{ ...process.versions, node: '${version}' }`
    const disguise = `Object.defineProperty(process, 'versions', { value: ${versions} })`
    execFile(
      process.execPath,
      ['--import', `data:text/javascript,${encodeURIComponent(disguise)}`, path],
      { env: bareEnvironment, timeout: 60_000 },
      (error, stdout, stderr) => resolve({ code: error?.code ?? 0, stdout, stderr }),
    )
  })

const remedy = 'run npm rebuild node --ignore-scripts=false, or use Node.js 24 on this machine.'

test('where npm ran no install scripts, pinfold names the command that puts the bundled Node in its place', async () => {
  const folder = await makeClone()
  const { code, stderr, stdout } = await runAs('20.20.2', join(folder, 'bin/pinfold.mjs'))
  assert.deepEqual([code, stdout], [3, ''])
  assert.ok(stderr.includes('npm ran no install scripts') && stderr.includes(remedy), stderr)
  const own = await runAs('24.0.0', join(folder, 'bin/pinfold.mjs'))
  assert.deepEqual([own.code, own.stdout], [0, 'started\n'])
})

test('pinfold says so when the bundled Node is not installed', async () => {
  const folder = await makeClone({ installed: false })
  const { code, stderr } = await runAs('20.20.2', join(folder, 'bin/pinfold.mjs'))
  assert.equal(code, 3)
  assert.match(stderr, /^The bundled Node\.js 24 is not installed: run npm ci/)
})

test('npm scripts that people begin with end with the same sentence in place of a stack', async () => {
  const folder = await makeClone()
  const check = join(folder, 'scripts/check-runtime.mjs')
  const { code, stderr } = await runAs('20.20.2', check)
  assert.equal(code, 3)
  assert.ok(stderr.includes(remedy) && stderr.trim().split('\n').length === 1, stderr)
  assert.deepEqual(await runAs('24.0.0', check), { code: 0, stdout: '', stderr: '' })
  const { scripts } = JSON.parse(await readFile(join(projectFolder, 'package.json'), 'utf8'))
  for (const name of ['start', 'test', 'check', 'demo', 'generate', 'prepack']) {
    assert.ok(scripts[name].startsWith('node scripts/check-runtime.mjs && '), name)
  }
})
