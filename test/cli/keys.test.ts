import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { xor } from '../../src/crypto/refusal.ts'
import { computeKeyCheckValue } from '../../src/hsm/keys/key-check.ts'
import { makeMigratedFolder, type Program, startProgram } from '../support/process.ts'
import { type Ended, pinfold, startPinfold } from './run-pinfold.ts'

/** What `npx pinfold keys` starts. */
const file = fileURLToPath(new URL('../../src/cli/pinfold.ts', import.meta.url))

const keys = (dataDir: string, ...words: readonly string[]): Promise<Ended> =>
  pinfold({ DATA_DIR: dataDir, KEY_REFRESH_MS: '50' }, 'keys', ...words)

test('keys are managed by commands, without a server and beside one', async (t) => {
  const dataDir = await makeMigratedFolder()
  await t.test('the command says how it is used, and with which code it ends', async () => {
    const help = await keys(dataDir, '--help')
    assert.equal(help.code, 0)
    assert.match(help.stdout, /rotate NAME/)
    assert.equal((await keys(dataDir, 'turn')).code, 2)
    assert.equal((await keys(dataDir, 'list', '--loud')).code, 2)
    assert.equal((await keys(dataDir, 'rotate', 'nothing')).code, 1)
  })
  await t.test('without a server it opens the service itself', async () => {
    const rotated = await keys(dataDir, 'rotate', 'pan', '--wait', '--json')
    assert.equal(rotated.code, 0, rotated.stderr)
    assert.equal(JSON.parse(rotated.stdout).state, 'active')
  })
  const program = await startProgram({ dataDir, env: { KEY_REFRESH_MS: '50' } })
  await t.test('with a server it asks that one', () => asksTheServer(dataDir))
  await t.test('a rotation of one key of chips names the keys that are behind', () =>
    saysWhichKeysAreBehind(dataDir),
  )
  await entersComponents(t, program)
})

/** A chip uses one version of its four keys, so a rotation of one of them says what is left. */
const saysWhichKeysAreBehind = async (dataDir: string): Promise<void> => {
  const behind = /Behind version 2: chip-ac\/1, chip-dynamic\/1, chip-smi\/1\. Rotate or import/
  const rotated = await keys(dataDir, 'rotate', 'chip-smc')
  assert.match(rotated.stdout, behind, rotated.stderr)
  assert.match((await keys(dataDir, 'list')).stdout, behind)
}

const asksTheServer = async (dataDir: string): Promise<void> => {
  const listed = await keys(dataDir, 'list', '--json')
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
    const { code, stderr } = await keys(dataDir, 'delete', 'pan', '1')
    if (code === 0) break
    assert.match(stderr, /must have been retired for [0-9.]+ seconds/)
    await wait(50)
  }
}

const entersComponents = (t: TestContext, program: Program): Promise<void> =>
  t.test('components come through a pipe, and neither answers nor log repeat one', async () => {
    const { dataDir } = program
    const [first, second] = [randomBytes(32), randomBytes(32)]
    const check = (key: Uint8Array) => computeKeyCheckValue('A', key)
    const form = ['--zone-master', '--algorithm', 'AES', '--bytes', '32', '--components', '2']
    const due = ['--check-value', check(xor(first, second))]
    const opened = await keys(dataDir, 'import', 'zmk', ...form, ...due, '--json')
    assert.equal(opened.code, 0, opened.stderr)
    const { entryId } = JSON.parse(opened.stdout)
    const enter = (person: string, component: Buffer) => {
      const words = ['keys', 'import', '--entry', entryId, '--person', person]
      const input = `${component.toString('hex')}\n`
      const own = ['--check-value', check(component)]
      return startPinfold({ DATA_DIR: dataDir }, [...words, ...own], { file, input }).ended
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
