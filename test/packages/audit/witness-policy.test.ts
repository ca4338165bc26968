import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { verifierKeyText } from '../../../packages/audit/notes.ts'
import { parseWitnessPolicy } from '../../../packages/audit/witness-policy.ts'

const vkey = (name: string, type = 0x04): string => {
  const { x = '' } = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })
  return verifierKeyText(name, type, Buffer.from(x, 'base64url'))
}

const [x1, x2, x3, y1] = ['X1', 'X2', 'X3', 'Y1'].map((name) => `witness ${name} ${vkey(name)}`)

test('a quorum of groups is met by enough of their members, and by no fewer', () => {
  const policy = parseWitnessPolicy(
    [
      '# two organizations',
      `log ${vkey('example.com/log', 0x01)}`,
      `${x1} https://one.example/witness/`,
      `  ${x2}\t`,
      x3,
      'group X 2 X1 X2 X3',
      '',
      y1,
      'group Y any Y1',
      'group both all X Y',
      'quorum both',
      '',
    ].join('\n'),
  )
  assert.deepEqual(
    policy.witnesses.map(({ name, url }) => [name, url]),
    [
      ['X1', 'https://one.example/witness'],
      ['X2', null],
      ['X3', null],
      ['Y1', null],
    ],
  )
  const quorums = { 'X1 Y1': false, 'X1 X3': false, 'X1 X3 Y1': true, 'X1 X2 X3 Y1': true }
  for (const [names, isQuorum] of Object.entries(quorums)) {
    assert.equal(policy.isQuorum(new Set(names.split(' '))), isQuorum, names)
  }
  assert.equal(parseWitnessPolicy('quorum none\n').isQuorum(new Set()), true)
})

test('a policy that the format does not allow is refused by its line', () => {
  const again = x1?.replace('X1', 'another')
  const refused: Readonly<Record<string, readonly (string | undefined)[]>> = {
    'no quorum': [x1],
    'two quorums': [x1, 'quorum X1', 'quorum X1'],
    'a quorum before its witness': ['quorum X1', x1],
    'a name twice': [x1, 'group X1 all X1', 'quorum X1'],
    'a key twice': [x1, again, 'quorum X1'],
    'a member twice': [x1, x2, 'group A all X1', 'group B all X1 X2', 'quorum B'],
    'a group of nobody': ['group A any', 'quorum A'],
    'a threshold beyond its members': [x1, 'group A 2 X1', 'quorum A'],
    'none in a group': ['group A all none', 'quorum A'],
    'a key that signs logs': [`witness X9 ${vkey('X9', 0x01)}`, 'quorum X9'],
    'a key with another id': [x1?.replace(/\+[0-9a-f]{8}\+/, '+00000000+'), 'quorum X1'],
    'a URL of another kind': [`${x1} ftp://one.example`, 'quorum X1'],
    'a strange word': ['witnesses X1', 'quorum none'],
    'a carriage return': [`${x1}\r`, 'quorum X1'],
  }
  for (const [what, lines] of Object.entries(refused)) {
    assert.throws(() => parseWitnessPolicy(`${lines.join('\n')}\n`), Error, what)
  }
})
