import assert from 'node:assert/strict'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { runVectors, type Tally } from '../../scripts/vectors/run-vectors.ts'

const cmac = {
  id: 'own-001',
  name: 'RFC 4493 example',
  op: 'cmac',
  inputs: { key: '2B7E151628AED2A6ABF7158809CF4F3C', message: '' },
  expected: { mac: 'BB1D6929E95937287FA37D129B756746' },
  provenance: 'published',
}

const pvvTrap = {
  id: 'own-002',
  name: 'a value that is right after all',
  op: 'trap',
  inputs: {
    pvk: '0123456789ABCDEFFEDCBA9876543210',
    pan: '1122334455667788',
    pvki: '1',
    pin: '4524',
    claimed: '8523',
  },
  expected: { mustNotEqual: '8523' },
  provenance: 'trap',
}

/** Runs a file with these rows; everything that was printed comes back too. */
async function run(...vectors: readonly unknown[]): Promise<Tally & { readonly printed: string }> {
  const directory = await mkdtemp(join(tmpdir(), 'vectors-'))
  await writeFile(
    join(directory, 'own.json'),
    JSON.stringify({ primitive: 'AES-CMAC', notes: '', vectors }),
  )
  const lines: string[] = []
  const tally = await runVectors([directory], (line) => lines.push(line))
  return { ...tally, printed: lines.join('\n') }
}

test('every published vector passes', async () => {
  const lines: string[] = []
  const { failed, passed, skipped } = await runVectors(
    [join(import.meta.dirname, '../vectors')],
    (line) => lines.push(line),
  )
  assert.deepEqual(
    lines.filter((line) => line.includes('failed: ')),
    [],
  )
  assert.equal(failed, 0)
  assert.ok(passed > 500 && skipped <= 2)
})

test('a vector that does not come out fails, by id and name and without a value', async () => {
  const { key } = cmac.inputs
  const { failed, printed } = await run(cmac, { ...cmac, expected: { mac: '00' } })
  assert.equal(failed, 1)
  assert.match(printed, /own-001 RFC 4493 example/)
  assert.ok(!printed.includes(key) && !printed.includes(cmac.expected.mac))
})

test('a vector that should have been refused fails, and one that was refused passes', async () => {
  const error = { error: 'no such key' }
  const short = { ...cmac, inputs: { ...cmac.inputs, key: '2B7E' }, expected: error }
  const { passed, failed } = await run(short, { ...cmac, expected: error })
  assert.deepEqual([passed, failed], [1, 1])
})

test('a trap that springs fails', async () => {
  const claimed = { ...pvvTrap, inputs: { ...pvvTrap.inputs, claimed: '0000' } }
  const { passed, failed } = await run(cmac, pvvTrap, claimed)
  assert.deepEqual([passed, failed], [2, 1])
})

test('an unknown operation is skipped and named', async () => {
  const { skipped, failed, printed } = await run(cmac, { ...cmac, op: 'constructor' })
  assert.deepEqual([skipped, failed], [1, 0])
  assert.match(printed, /own-001.*constructor/)
})

test('a file whose computations nobody published fails', async () => {
  const derived = { ...cmac, provenance: 'derived' }
  assert.equal((await run(derived)).failed, 1)
  assert.equal((await run({ ...derived, provenance: 'policy' })).failed, 0)
})

test('rows of no form fail and stop nothing', async () => {
  const strange = [null, 7, [], {}, { id: 'x' }, { ...cmac, inputs: null }]
  const { passed, failed } = await run(cmac, ...strange, { ...cmac, inputs: {} })
  assert.deepEqual([passed, failed], [1, strange.length + 1])
})

test('a directory without vectors fails, and so does a file that is none', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'vectors-'))
  assert.equal((await runVectors([directory], () => {})).failed, 1)
  await writeFile(join(directory, 'broken.json'), '{')
  assert.equal((await runVectors([directory], () => {})).failed, 1)
  assert.equal((await runVectors([join(directory, 'nowhere')], () => {})).failed, 1)
})
