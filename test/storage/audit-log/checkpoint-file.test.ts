/** What a machine remembers outside the database, shared by its processes. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { checkpointFile } from '../../../src/storage/audit-log/checkpoint-file.ts'

let folder: string
let path: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'checkpoint-'))
  path = join(folder, 'audit-checkpoint')
})
afterEach(() => rm(folder, { recursive: true }))

const upTo = (size: number) => (known: string) => Number(known) <= size

/**
 * What the next newer note is: each writer is another process, which shares nothing but the folder.
 */
const write = (size: number) => checkpointFile(path).write(String(size), upTo(size))

test('a note gives way to a newer one, and not to an older one', async () => {
  assert.equal(await checkpointFile(path).read(), null)
  assert.equal(await write(5), true)
  assert.equal(await write(3), false)
  assert.equal(await checkpointFile(path).read(), '5')
  assert.equal(await write(5), true)
  assert.equal(await write(9), true)
  assert.equal(await checkpointFile(path).read(), '9')
  assert.deepEqual(await readdir(folder), ['audit-checkpoint'])
})

test('of many that write at once none sets back what another was told is kept', async () => {
  for (let round = 0; round < 30; round += 1) {
    const sizes = Array.from({ length: 8 }, (_, at) => round * 10 + ((at * 5) % 8))
    const kept: number[] = []
    await Promise.all(
      sizes.map(async (size) => {
        if (!(await write(size))) return
        kept.push(size)
        const known = Number(await checkpointFile(path).read())
        assert.ok(known >= size, `${known} after ${size}`)
      }),
    )
    assert.ok(Number(await checkpointFile(path).read()) >= Math.max(0, ...kept))
  }
})

test('one that is held up after it looked finds that a newer one of another process has taken its place', async () => {
  await write(1)
  const { href } = new URL('../../../src/storage/audit-log/checkpoint-file.ts', import.meta.url)
  const script = `import { checkpointFile } from ${JSON.stringify(href)}
    if (!(await checkpointFile(${JSON.stringify(path)}).write('7', (known) => Number(known) <= 7))) process.exit(1)`
  const isKept = await checkpointFile(path).write('2', (known) => {
    // What there is has been read, and the rename is yet to come.
    execFileSync(process.execPath, ['--input-type=module', '-e', script])
    return upTo(2)(known)
  })
  assert.equal(isKept, false)
  assert.equal(await checkpointFile(path).read(), '7')
})

test('what a process left that was killed in the middle keeps no newer note away', async () => {
  await write(4)
  await writeFile(`${path}.candidate-killed`, '6')
  await writeFile(`${path}.draft-killed`, '')
  assert.equal(await write(5), false)
  assert.equal(await checkpointFile(path).read(), '4')
  assert.equal(await write(7), true)
  assert.equal(await checkpointFile(path).read(), '7')
  assert.ok(!(await readdir(folder)).includes('audit-checkpoint.candidate-killed'))
})
