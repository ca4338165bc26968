import assert from 'node:assert/strict'
import { constants, generateKeyPairSync, publicEncrypt, randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { runVectors, type Tally } from '../../scripts/vectors.ts'

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
const run = (...vectors: readonly unknown[]): Promise<Tally & { readonly printed: string }> =>
  runContent({ primitive: 'AES-CMAC', notes: '', vectors })

const directories: string[] = []
after(() => Promise.all(directories.map((directory) => rm(directory, { recursive: true }))))

async function makeDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'vectors-'))
  directories.push(directory)
  return directory
}

async function runContent(content: object): Promise<Tally & { readonly printed: string }> {
  const directory = await makeDirectory()
  await writeFile(join(directory, 'own.json'), JSON.stringify(content))
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

test('a file without published computations fails', async () => {
  const derived = { ...cmac, provenance: 'derived' }
  assert.equal((await run(derived)).failed, 1)
  assert.equal((await run({ ...derived, provenance: 'policy' })).failed, 0)
})

test('a file of Project Wycheproof runs as it is published: RSA-OAEP with SHA-256', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const message = randomBytes(32)
  const padding = constants.RSA_PKCS1_OAEP_PADDING
  const ct = publicEncrypt({ key: publicKey, padding, oaepHash: 'sha256' }, message)
  const other = publicEncrypt({ key: publicKey, padding, oaepHash: 'sha1' }, message)
  const valid = { tcId: 1, comment: 'right', flags: [], label: '', result: 'valid' }
  const tests = [
    { ...valid, msg: message.toString('hex'), ct: ct.toString('hex') },
    { ...valid, tcId: 2, result: 'invalid', msg: '', ct: other.toString('hex') },
    { ...valid, tcId: 3, comment: 'wrong', msg: '00', ct: ct.toString('hex') },
  ]
  const der = privateKey.export({ format: 'der', type: 'pkcs8' })
  const group = { sha: 'SHA-256', mgfSha: 'SHA-256', privateKeyPkcs8: der.toString('hex'), tests }
  const { failed, passed, printed, skipped } = await runContent({
    algorithm: 'RSAES-OAEP',
    schema: 'rsaes_oaep_decrypt_schema_v1.json',
    testGroups: [group, { ...group, mgfSha: 'SHA-1', tests: tests.slice(0, 1) }],
  })
  assert.deepEqual([passed, failed, skipped], [2, 1, 1])
  assert.match(printed, /failed: tcId 3 wrong: another message than expected/)
  assert.match(printed, /skipped: .*SHA-256 and SHA-1/)
})

test('rows of no form fail and stop nothing', async () => {
  const strange = [null, 7, [], {}, { id: 'x' }, { ...cmac, inputs: null }]
  const { passed, failed } = await run(cmac, ...strange, { ...cmac, inputs: {} })
  assert.deepEqual([passed, failed], [1, strange.length + 1])
})

test('a directory without vectors fails, and so does a file that is none', async () => {
  const directory = await makeDirectory()
  assert.equal((await runVectors([directory], () => {})).failed, 1)
  await writeFile(join(directory, 'broken.json'), '{')
  assert.equal((await runVectors([directory], () => {})).failed, 1)
  assert.equal((await runVectors([join(directory, 'nowhere')], () => {})).failed, 1)
})

/** A row that somebody else could have written, of an operation, with its answer. */
const row = (op: string, inputs: object, expected: object) => ({
  id: `own-${op}`,
  name: op,
  op,
  inputs,
  expected,
  provenance: 'published',
})

const runOf = (primitive: string, ...vectors: readonly unknown[]) =>
  runContent({ primitive, notes: '', vectors })

test('rows come out that leave out what may be left out, or ask for another length', async () => {
  const key = '6DBFC1804A015BAD'
  const kcv = (length: number, expected: string) =>
    row('kcvTdes', { key: key.repeat(3), length }, { kcv: expected })
  const pvk = '0123456789abcdef'
  const ibm = { pvk: pvk.toUpperCase(), validationData: '1234567890123445' }
  const results = await Promise.all([
    runOf('KCV', row('kcvTdes', { key }, { kcv: '029e60' }), kcv(6, '029E60'), kcv(5, '029E6')),
    runOf('IBM 3624', row('naturalPin', ibm, { pin: '9046' })),
    runOf('IBM 3624', row('naturalPin', { ...ibm, pvk: pvk.repeat(3) }, { pin: '9046' })),
  ])
  assert.deepEqual(
    results.map(({ failed, passed }) => [passed, failed]),
    [
      [3, 0],
      [1, 0],
      [1, 0],
    ],
  )
})

test('a TDES-CMAC is not an AES-CMAC, whatever key lengths they share', async () => {
  // NIST SP 800-38B, appendix D.4, example 13: a TDES key of three parts, no message.
  const key = '8AA83BF8CBDA10620BC1BF19FBB6CD58BC313D4A371CA8B5'
  const { failed, passed } = await runOf(
    'TDES-CMAC',
    row('cmac', { key, message: '' }, { mac: 'B7A688E122FFAF95' }),
  )
  assert.deepEqual([passed, failed], [1, 0])
})

test('PIN fields of every format go both ways, and a PAN may be told by its twelve digits', async () => {
  const fields = [
    ['format 0', { pin: '1234' }, '041234FFFFFFFFFF'],
    ['format 1', { pin: '1234', fill: '0123456789' }, '1412340123456789'],
    ['format 2', { pin: '1234' }, '241234FFFFFFFFFF'],
    ['format 3', { pin: '1234', fill: 'abcdefabcd' }, '341234ABCDEFABCD'],
  ] as const
  for (const [primitive, inputs, pinField] of fields) {
    const { failed, passed } = await runOf(
      primitive,
      row('pinField', inputs, { pinField }),
      row('decodePinField', { pinField }, { pin: '1234' }),
    )
    assert.deepEqual([passed, failed], [2, 0], primitive)
  }
  const right = { pin: '1234', pan12: '555555123456' }
  const block = { block: '041261AAAAEDCBA9' }
  assert.equal((await runOf('format 0', row('encode', right, block))).failed, 0)
})

test('a header is told by its members, and a version that is not taken is skipped', async () => {
  const header = 'D0000P0TE00N0100KS1800604B120F9292800000'
  const optionalBlocks = [{ id: 'KS', content: '00604B120F9292800000' }]
  const told = { keyUsage: 'P0', version: 'D', optionalBlocks }
  const older = { kbpk: '45'.repeat(16), keyBlock: 'A0072P0TE00E0000' }
  const { failed, passed, skipped } = await runOf(
    'headers',
    row('parseHeader', { header }, told),
    row('unwrap', older, { key: '00' }),
  )
  assert.deepEqual([passed, failed, skipped], [1, 0, 1])
})

test('a trap fails if its operation makes what the trap forbids', async () => {
  const { claimed, ...inputs } = pvvTrap.inputs
  const named = { ...pvvTrap, op: 'pvv', inputs }
  const other = { ...named, expected: { mustNotEqual: '0000', correct: claimed } }
  const nothing = { ...pvvTrap, inputs: { claimed: 'x' } }
  const { failed, passed, printed, skipped } = await run(cmac, named, other, nothing)
  assert.deepEqual([passed, failed, skipped], [2, 1, 1])
  assert.match(printed, /made what it must not make/)
})
