import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { commands } from '../../src/cli/pinfold.ts'
import { makeMigratedFolder } from '../support/process.ts'
import { launchPinfold, pinfold } from './run-pinfold.ts'

const run = promisify(execFile)

test('bash completes nouns, verbs and options by the printed script', async () => {
  const { code, stdout: script } = await launchPinfold({}, 'completion', 'bash')
  assert.equal(code, 0)
  const complete = async (...typed: string[]) => {
    const words = ['pinfold', ...typed].map((word) => `'${word}'`).join(' ')
    const asked = `COMP_WORDS=(${words}); COMP_CWORD=${typed.length}; _pinfold`
    const { stdout } = await run('bash', [
      '-c',
      `${script}\n${asked}\nprintf '%s\\n' "\${COMPREPLY[@]}"`,
    ])
    return stdout.trim().split('\n')
  }
  assert.deepEqual(await complete('car'), ['cards'])
  assert.deepEqual(await complete('dem'), ['demo'])
  assert.deepEqual(await complete('--v'), ['--version'])
  assert.deepEqual(await complete('cards', 'cr'), ['create'])
  assert.deepEqual(await complete('cards', 'create', '--pr'), ['--product'])
  assert.deepEqual(await complete('simulate', '4820117360', '--cv'), ['--cvv'])
  assert.deepEqual(await complete('start', '--ur'), [''])
})

test('the scripts of zsh and fish contain every command and option', async () => {
  for (const [shell, option] of [
    ['zsh', (name: string) => `'--${name}:`],
    ['fish', (name: string) => ` -l ${name} `],
  ] as const) {
    const { code, stdout } = await pinfold({}, 'completion', shell)
    assert.equal(code, 0)
    for (const { options = {}, words } of commands) {
      for (const word of words.split(' ')) assert.ok(stdout.includes(word), words)
      for (const name of Object.keys(options)) assert.ok(stdout.includes(option(name)), name)
    }
  }
  assert.equal((await pinfold({}, 'completion', 'tcsh')).code, 2)
})

test('a list ends at --limit', async () => {
  const env = { DATA_DIR: await makeMigratedFolder() }
  const list = async (...words: string[]) =>
    JSON.parse((await pinfold(env, 'products', 'list', '--json', ...words)).stdout)
  const all = await list()
  assert.ok(all.length > 2)
  assert.deepEqual(await list('--limit', '2'), all.slice(0, 2))
  const none = await pinfold(env, 'products', 'list', '--limit', '0')
  assert.deepEqual([none.code, /--limit must be 1 or more/.test(none.stderr)], [2, true])
  for (const { options, words } of commands) {
    if (words.endsWith(' list')) assert.ok(options?.limit, words)
  }
})
