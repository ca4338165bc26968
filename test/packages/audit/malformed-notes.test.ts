import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import test from 'node:test'
import { AuditFault, type AuditFaultCode } from '../../../packages/audit/audit-fault.ts'
import { mlDsaMessage, parseCheckpoint } from '../../../packages/audit/checkpoints.ts'
import {
  composeNote,
  noteKeyId,
  openNote,
  parseNote,
  parseVerifierKey,
  verifierKeyText,
} from '../../../packages/audit/notes.ts'
import { proofText } from '../../../packages/audit/receipt.ts'
import { tilePath } from '../../../packages/audit/tiles.ts'
import { computeCommitment } from '../../../packages/audit/tree.ts'
import { parseWitnessPolicy } from '../../../packages/audit/witness-policy.ts'

const refused =
  (code: AuditFaultCode, detail: string) =>
  (error: unknown): true => {
    assert.ok(error instanceof AuditFault)
    assert.deepEqual([error.code, error.message], [code, detail])
    return true
  }
const malformed = (detail: string) => refused('malformed', detail)

const publicKey = new Uint8Array(32).fill(7)
const vkey = verifierKeyText('a.example/log', 1, publicKey)
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')
const root = base64(new Uint8Array(32))

test('a verifier key is a name, its id and the bytes of a known type, and nothing else', () => {
  assert.deepEqual(parseVerifierKey(vkey), {
    name: 'a.example/log',
    id: noteKeyId('a.example/log', 1, publicKey),
    type: 1,
    publicKey,
  })
  const unknown = (text: string) =>
    malformed(`the verifier key has an unknown type: ${text.slice(0, 80)}`)
  const keyOf = (name: string, type: number, bytes: Uint8Array) =>
    verifierKeyText(name, type, bytes)
  for (const text of [
    keyOf('', 1, publicKey),
    keyOf('a b', 1, publicKey),
    keyOf('a\u2003b', 1, publicKey),
    keyOf('a', 2, publicKey),
    keyOf('a', 1, publicKey.subarray(1)),
    keyOf(`long.${'x'.repeat(100)}`, 9, publicKey),
  ]) {
    assert.throws(() => parseVerifierKey(text), unknown(text))
  }
  assert.throws(() => parseVerifierKey(''), unknown(''))
  assert.throws(() => parseVerifierKey('a'), unknown('a'))
  assert.throws(
    () => parseVerifierKey(vkey.replace(/\+[0-9a-f]{8}\+/, '+00000000+')),
    malformed('a.example/log: the id does not match the key'),
  )
  for (const bent of [`${vkey}=`, `${vkey}!`, vkey.slice(0, -1)]) {
    assert.throws(() => parseVerifierKey(bent), malformed('the text is not base64 as in RFC 4648'))
  }
  // A plus is a letter of base64, too.
  const plus = new Uint8Array(32).fill(0xfb)
  assert.deepEqual(parseVerifierKey(verifierKeyText('a', 1, plus)).publicKey, plus)
})

const signature = { name: 'a.example/log', id: '01020304', signature: Uint8Array.of(9) }
const line = composeNote('', [signature]).slice(1)

test('a note is a text, an empty line and one to a hundred lines of signature', () => {
  const { signatures, text } = parseNote(composeNote('one\n\ntwo\n', [signature, signature]))
  assert.equal(text, 'one\n\ntwo\n')
  assert.deepEqual(signatures, [signature, signature])
  assert.equal(parseNote(`\n\n${line}`).text, '\n')
  const control = malformed('a note is UTF-8 without control characters')
  for (const note of [`a\tb\n\n${line}`, `a\u001f\n\n${line}`, `\ud800\n\n${line}`]) {
    assert.throws(() => parseNote(note), control)
  }
  const end = malformed('a note must end in signature lines')
  for (const note of ['', 'a\n', line, `a\n\n${line.slice(0, -1)}`, '\n\nx']) {
    assert.throws(() => parseNote(note), end)
  }
  const count = malformed('a note has 1 to 100 signatures')
  assert.throws(() => parseNote('a\n\n'), count)
  assert.equal(parseNote(`a\n\n${line.repeat(100)}`).signatures.length, 100)
  assert.throws(() => parseNote(`a\n\n${line.repeat(101)}`), count)
})

test('a line of signature is a dash, a name, and a key’s id with at least a byte', () => {
  const wrong = malformed('a signature line must be a dash, a name and base64')
  const bytes = base64(Uint8Array.of(1, 2, 3, 4, 9))
  for (const bent of [
    `- a ${bytes}`,
    `—  ${bytes}`,
    `— a+b ${bytes}`,
    `— a ${bytes} more`,
    `— a ${base64(Uint8Array.of(1, 2, 3, 4))}`,
    '— a',
    '—',
  ]) {
    assert.throws(() => parseNote(`a\n\n${bent}\n`), wrong, bent)
  }
  assert.throws(
    () => parseNote('a\n\n— a Stryker!\n'),
    malformed('the text is not base64 as in RFC 4648'),
  )
})

test('a note that no known key has signed is not opened, nor one whose signature has no time where it must', async () => {
  const cosigner = verifierKeyText('b', 4, publicKey)
  const key = parseVerifierKey(cosigner)
  const note = (bytes: number) =>
    composeNote('text\n', [{ name: 'b', id: key.id, signature: new Uint8Array(bytes) }])
  await assert.rejects(
    openNote(note(72), []),
    refused('unverified', 'no signature is by a known key'),
  )
  // A key of that id under another name is another's.
  await assert.rejects(
    openNote(note(72), [{ ...key, name: 'c' }]),
    refused('unverified', 'no signature is by a known key'),
  )
  // Nor is one of that name under another id.
  await assert.rejects(
    openNote(note(72), [{ ...key, id: '00000000' }]),
    refused('unverified', 'no signature is by a known key'),
  )
  for (const length of [1, 8, 9, 72]) {
    await assert.rejects(
      openNote(note(length), [key]),
      refused('wrong_signature', 'the Ed25519 signature of b is wrong'),
    )
  }
})

test('a checkpoint is an origin, a decimal size, a root of 32 bytes and further lines', () => {
  const whole = `a.example/log\n0\n${root}\n`
  assert.deepEqual(parseCheckpoint(whole), {
    origin: 'a.example/log',
    size: 0,
    root: new Uint8Array(32),
  })
  assert.equal(parseCheckpoint(`${whole}more\nand more\n`).origin, 'a.example/log')
  const wrong = malformed('a checkpoint has an origin, a size and a root')
  for (const text of [
    ...['', '\n', `\n0\n${root}\n`, `a\n\n${root}\n`, `a\n00\n${root}\n`, `a\n-1\n${root}\n`],
    ...[`a\n1x\n${root}\n`, `a\nx1\n${root}\n`, `a\n9007199254740993\n${root}\n`],
    ...[`a\n12345678901234567\n${root}\n`, whole.slice(0, -1), `${whole}\n`],
    ...[`${whole}\nmore\n`, `${whole}more`, 'a', 'a\n1'],
  ]) {
    assert.throws(() => parseCheckpoint(text), wrong, JSON.stringify(text))
  }
  assert.throws(
    () => parseCheckpoint(`a\n1\n${base64(new Uint8Array(31))}\n`),
    malformed('a root is 32 bytes'),
  )
  assert.throws(() => parseCheckpoint('a\n1\n\n'), malformed('a root is 32 bytes'))
})

test('a proof is a file of lines, with what is added only where there is something', () => {
  const given = { index: 3, hashes: [Uint8Array.of(1), Uint8Array.of(2)], checkpoint: 'the note\n' }
  const lines = ['index 3', 'AQ==', 'Ag==', '', 'the note', '']
  assert.deepEqual(proofText({ ...given, extra: null }).split('\n'), [
    'c2sp.org/tlog-proof@v1',
    ...lines,
  ])
  assert.deepEqual(proofText({ ...given, extra: Uint8Array.of(0) }).split('\n'), [
    'c2sp.org/tlog-proof@v1',
    'extra AA==',
    ...lines,
  ])
})

test('what a leaf commits to is its text under a domain of its own, and tiles have paths of three digits', () => {
  const salt = new Uint8Array(32).fill(3)
  const expected = hash(
    'sha256',
    Buffer.concat([Buffer.from('pinfold audit entry v1\n'), salt, Buffer.from('{}')]),
    'buffer',
  )
  assert.deepEqual(Buffer.from(computeCommitment(salt, '{}')), expected)
  assert.equal(tilePath(0, 0), 'tile/0/000')
  assert.equal(tilePath(1, 1_234_067, 7), 'tile/1/x001/x234/067.p/7')
  assert.equal(tilePath('entries', 999), 'tile/entries/999')
})

test('a line of a policy that is not as it must be is named with its number and why', () => {
  const why = (policy: string, message: string) =>
    assert.throws(() => parseWitnessPolicy(policy), new Error(message), policy)
  const cosigner = verifierKeyText('w', 4, publicKey)
  const witness = `witness w ${cosigner}`
  why('\u0001', 'It has characters that a policy must not have.')
  why('', 'It has no quorum.')
  why('\nmystery', 'Line 2 begins with an unknown word.')
  why('toString', 'Line 1 begins with an unknown word.')
  why(`log ${vkey} https://a.example more`, 'Line 1 has too many words.')
  why(`${witness} https://w.example more`, 'Line 1 has too many words.')
  why(`witness w ${vkey}`, 'Line 1 names a key without cosignatures.')
  why(`${witness} ftp://w.example`, 'Line 1 has no http or https URL.')
  why(`${witness} nonsense`, 'Line 1 has no http or https URL.')
  why(`log ${vkey} xhttps://a`, 'Line 1 has no http or https URL.')
  why(`${witness}\nwitness x ${cosigner}`, 'Line 2 repeats a key.')
  why(`${witness}\ngroup g all x`, 'Line 2 cannot have x in its group.')
  why(`${witness}\ngroup g 2 w`, 'Line 2 has no threshold of its members.')
  why(`${witness}\ngroup g 0 w`, 'Line 2 has no threshold of its members.')
  why(`${witness}\ngroup g`, 'Line 2 has no threshold of its members.')
  why(`${witness}\ngroup w any w`, 'Line 2 defines no new name.')
  why(`group`, 'Line 1 has no threshold of its members.')
  why(`${witness}\nquorum x`, 'Line 2 names x, which is not defined before it.')
  why(`${witness}\nquorum`, 'Line 2 names , which is not defined before it.')
  why(`${witness}\nquorum w w`, 'Line 2 is a second quorum.')
  why(`${witness}\nquorum w\nquorum w`, 'Line 3 is a second quorum.')
  why(`log`, 'Line 1 the verifier key has an unknown type: .')
  why(`witness w`, 'Line 1 the verifier key has an unknown type: .')
  why(`witness`, 'Line 1 defines no new name.')
  const read = parseWitnessPolicy(
    `# one\n \t\nlog ${vkey}\n${witness} https://w.example/a//\nquorum w\n`,
  )
  assert.deepEqual(
    read.witnesses.map(({ name, url }) => [name, url]),
    [['w', 'https://w.example/a']],
  )
  assert.deepEqual(
    [read.isQuorum(new Set(['w'])), read.isQuorum(new Set()), read.isQuorum(new Set(['']))],
    [true, false, false],
  )
})

test('what ML-DSA signs is a tree under the names of its log and of who signs, with sizes in eight bytes', () => {
  const checkpoint = { origin: 'log', size: 258, root: new Uint8Array(32).fill(5) }
  const eight = (last: readonly number[]) =>
    Buffer.alloc(8 - last.length).toString('hex') + Buffer.from(last).toString('hex')
  const text = (value: string) => Buffer.from(value).toString('hex')
  assert.equal(
    Buffer.from(mlDsaMessage('me', checkpoint, 7)).toString('hex'),
    [
      ...[`${text('subtree/v1\n')}00`, '02', text('me'), eight([7])],
      ...['03', text('log'), eight([]), eight([1, 2]), '05'.repeat(32)],
    ].join(''),
  )
})
