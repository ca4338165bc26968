import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, relative, resolve } from 'node:path'
import { before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { writeSandboxFile } from '../../src/sandbox/sandbox-file.ts'
import { parseConfig } from '../../src/service/config/config.ts'
import { variableGroups } from '../../src/service/config/variable-reference.ts'
import { openServedService, type ServedService } from '../support/served-service.ts'

const projectRoot = fileURLToPath(new URL('../../', import.meta.url))
const readText = (path: string): Promise<string> => readFile(resolve(projectRoot, path), 'utf8')

let service: ServedService
before(async () => {
  service = await openServedService()
  await writeSandboxFile(service.dataDir, service.sandbox)
})

test('the first call of the README can be pasted', async () => {
  const [, commands = ''] = /^```sh\n([\s\S]*?)^```$/m.exec(await readText('README.md')) ?? []
  const script = commands
    .replaceAll('http://127.0.0.1:8080', service.sandbox.baseUrl)
    .replaceAll('./.data/', `${service.dataDir}/`)
    .replaceAll('.data/', `${service.dataDir}/`)
  const run = promisify(execFile)('bash', ['--norc', '-euo', 'pipefail', '-c', script])
  const { stdout, stderr } = await run
  assert.equal(stderr, '')
  assert.match(stdout, /"productId":1001/)
})

test('the first calls with curl can be pasted', async () => {
  const blocks = [
    ...(await readText('docs/tutorials/first-calls.md')).matchAll(/^```sh\n([\s\S]*?)^```$/gm),
  ]
  const script = blocks
    .map(([, commands]) => commands)
    .join('\n')
    .replaceAll('http://127.0.0.1:8080', service.sandbox.baseUrl)
    .replaceAll('.data/', `${service.dataDir}/`)
  const run = promisify(execFile)('bash', ['--norc', '-euo', 'pipefail', '-c', script])
  const { stdout, stderr } = await run
  assert.equal(stderr, '')
  const statuses = stdout.split('\n').map((line) => line.slice(-3))
  const expected = ['200', '200', '204', '200', '200', '204', '204', '200', '204', '422', '']
  assert.deepEqual(statuses, expected)
  assert.match(stdout, /^\{"pin":"4821"\} 200$/m)
  assert.match(stdout, /"code":"weak_pin"/)
})

test('the reference of the configuration lists every variable that the configuration reads, once', async () => {
  const files = globSync('src/service/config/**/*.ts', {
    cwd: projectRoot,
    exclude: ['**/variable-reference.ts'],
  })
  const code = (await Promise.all(files.map(readText))).join('\n')
  const names = [...code.matchAll(/'([A-Z]+(?:_[A-Z]+)*)'/g)].map(([, name = '']) => name)
  const variables = names
    .flatMap((name) => {
      if (/^(?:PRIVATE_)?AUTH$/.test(name)) return [`${name}_ISSUER`, `${name}_AUDIENCE`]
      if (/(?:^|_)RATE$/.test(name)) return [`${name}_PER_SECOND`, `${name}_BURST`]
      return [name]
    })
    .filter((name) => !/^(?:GET|POST|PUT|E[A-Z]+|PGHOST|PGSSLMODE)$/.test(name))
  assert.ok(variables.length > 50, 'hardly a variable was found')
  const listed = variableGroups.flatMap((group) => group.variables.map(([name]) => name))
  assert.equal(new Set(listed).size, listed.length)
  for (const name of new Set(variables)) assert.ok(listed.includes(name), name)
})

test('every default number of the reference of the configuration is the one that applies', () => {
  const read = (environment: Record<string, string>) => {
    const { config, faults } = parseConfig(environment)
    return { ...config, effectiveLimits: null, faults }
  }
  const numbers = variableGroups.flatMap(({ variables }) =>
    variables.flatMap(([name, otherwise]) => {
      const [, number] = /^`(\d+)`$/.exec(otherwise) ?? []
      return number === undefined ? [] : [[name, number] as const]
    }),
  )
  assert.ok(numbers.length > 30)
  for (const [name, number] of numbers) {
    assert.deepEqual(read({ [name]: number }), read({}), name)
    assert.notDeepEqual(read({ [name]: String(Number(number) + 1) }), read({}), name)
  }
})

for (const entrance of ['docs/README.md', 'llms.txt']) {
  test(`every guide and document is found from ${entrance}`, async () => {
    const text = await readText(entrance)
    const guides = globSync('docs/{tutorials,guides,reference,explanation}/*.md', {
      cwd: projectRoot,
    })
    for (const path of [
      ...guides,
      'packages/sdk/README.md',
      'packages/card-element/README.md',
      ...globSync('examples/*{.sh,/*.mjs}', { cwd: projectRoot }),
    ]) {
      const link = relative(dirname(entrance), path)
      assert.ok(text.includes(`](${link})`), `${entrance} does not lead to ${path}`)
    }
  })
}

test('the calls of an administrator can be pasted', async () => {
  const [, commands = ''] =
    /^```sh\n([\s\S]*?)^```$/m.exec(await readText('docs/reference/admin.md')) ?? []
  const script = commands
    .replaceAll('http://127.0.0.1:8080', service.sandbox.baseUrl)
    .replaceAll('http://127.0.0.1:8081', service.sandbox.privateUrl)
    .replaceAll('.data/', `${service.dataDir}/`)
  const { stdout, stderr } = await promisify(execFile)('bash', [
    '--norc',
    '-euo',
    'pipefail',
    '-c',
    script,
  ])
  assert.equal(stderr, '')
  const statuses = stdout.split('\n').map((line) => line.slice(-3))
  assert.deepEqual(statuses, ['200', '204', '200', ''])
})

test('every dependency has its line in dependencies.md', async () => {
  const text = await readText('docs/decisions/dependencies.md')
  for (const path of [
    'package.json',
    ...globSync('packages/*/package.json', { cwd: projectRoot }),
  ]) {
    const { dependencies, devDependencies, optionalDependencies } = JSON.parse(await readText(path))
    const all = { ...dependencies, ...devDependencies, ...optionalDependencies }
    for (const name of Object.keys(all)) {
      assert.ok(text.includes(`| \`${name}\` |`), `docs/decisions/dependencies.md has no ${name}`)
    }
  }
})

test('every decision stands in the list of decisions', async () => {
  const text = await readText('docs/decisions/README.md')
  const names = globSync('*.md', { cwd: resolve(projectRoot, 'docs/decisions') })
  for (const name of names.filter((each) => each !== 'README.md')) {
    assert.ok(text.includes(`](${name})`), name)
  }
})
