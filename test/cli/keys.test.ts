import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { xor } from '../../src/crypto/refusal.ts'
import { keyCheckValueOf } from '../../src/hsm/keys/key-check.ts'
import { bareEnvironment, makeMigratedFolder, startProgram } from '../support/process.ts'

const program = fileURLToPath(new URL('../../src/cli/pinfold.ts', import.meta.url))

type Ended = { code: number | null; stdout: string; stderr: string }

/** Runs a command as an operator types it; `input` comes through a pipe. */
const keys = async (dataDir: string, words: readonly string[], input = ''): Promise<Ended> => {
  const env = { ...bareEnvironment, DATA_DIR: dataDir, KEY_REFRESH_MS: '50' }
  const child = spawn(process.execPath, [program, 'keys', ...words], { env })
  const texts = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].on('data', (chunk: Buffer) => {
      texts[name] += chunk.toString()
    })
  }
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  const [code] = await once(child, 'close')
  return { code, ...texts }
}

test('the keys command says how it is used, and with which code it ends', async () => {
  const dataDir = await makeMigratedFolder()
  const help = await keys(dataDir, ['--help'])
  assert.equal(help.code, 0)
  assert.match(help.stdout, /rotate NAME/)
  assert.equal((await keys(dataDir, ['turn'])).code, 2)
  assert.equal((await keys(dataDir, ['list', '--loud'])).code, 2)
  assert.equal((await keys(dataDir, ['rotate', 'nothing'])).code, 1)
})

test('without a server it opens the service itself; with one it asks that one', async () => {
  const dataDir = await makeMigratedFolder()
  const rotated = await keys(dataDir, ['rotate', 'pan', '--wait', '--json'])
  assert.equal(rotated.code, 0, rotated.stderr)
  assert.equal(JSON.parse(rotated.stdout).state, 'active')
  const program = await startProgram({ dataDir, env: { KEY_REFRESH_MS: '50' } })
  const listed = await keys(dataDir, ['list', '--json'])
  const pan = JSON.parse(listed.stdout).filter((row: { key: string }) => row.key === 'pan')
  assert.deepEqual(
    pan.map(({ state, version }: { state: string; version: number }) => [version, state]),
    [
      [1, 'retired'],
      [2, 'active'],
    ],
  )
  // Refused until it has been retired for long enough, which is told.
  for (;;) {
    const { code, stderr } = await keys(dataDir, ['retire', 'pan', '1', '--delete'])
    if (code === 0) break
    assert.match(stderr, /has not been retired for [0-9.]+ seconds/)
  }
  await program.kill('SIGTERM')
})

test('components come through a pipe or a prompt, and neither the answers nor the log repeat one', async () => {
  const dataDir = await makeMigratedFolder()
  const program = await startProgram({ dataDir })
  const [first, second] = [randomBytes(32), randomBytes(32)]
  const check = (key: Uint8Array) => keyCheckValueOf('A', key)
  const form = ['--zone-master', '--algorithm', 'AES', '--bytes', '32', '--components', '2']
  const due = ['--check-value', check(xor(first, second))]
  const opened = await keys(dataDir, ['import', 'zmk', ...form, ...due, '--json'])
  assert.equal(opened.code, 0, opened.stderr)
  const { entryId } = JSON.parse(opened.stdout)
  const enter = (person: string, component: Buffer) => {
    const words = ['import', '--entry', entryId, '--person', person]
    return keys(
      dataDir,
      [...words, '--check-value', check(component)],
      `${component.toString('hex')}\n`,
    )
  }
  const ended = [await enter('Ana Lim', first), await enter('Bo Ek', second)]
  assert.deepEqual(
    ended.map(({ code }) => code),
    [0, 0],
    ended[0]?.stderr,
  )
  assert.match(ended[1]?.stdout ?? '', /zmk is combined/)
  await program.kill('SIGTERM')
  const told = [
    ...ended.flatMap(({ stderr, stdout }) => [stdout, stderr]),
    program.stdout(),
    program.stderr(),
  ]
  for (const component of [first, second]) {
    assert.ok(!told.join('').toLowerCase().includes(component.toString('hex')))
  }
})
