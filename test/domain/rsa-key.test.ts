import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto'
import { test } from 'node:test'
import { findRsaFault, findRsaJwkFault, withoutWeakRsaKeys } from '../../src/domain/rsa-key.ts'
import { exponentOneJwk, forgeJwt, goodRsaJwk, weakRsaJwks } from '../support/weak-rsa-keys.ts'

test('a signature under an RSA key with the exponent 1 is forged without the private key', () => {
  const [header = '', claims = '', signature = ''] = forgeJwt({}, { sub: 'anybody' }).split('.')
  const key = createPublicKey({ key: exponentOneJwk, format: 'jwk' })
  const signed = Buffer.from(`${header}.${claims}`)
  assert.ok(verify('sha256', signed, key, Buffer.from(signature, 'base64url')))
})

test('an RSA key is odd in modulus and exponent, of 2048 bits at least, and its exponent from 65537 on', () => {
  assert.equal(findRsaJwkFault(goodRsaJwk), null)
  const exponents = ['AQAB', 'AQAD', Buffer.alloc(32, 0xff).toString('base64url')]
  for (const e of exponents) assert.equal(findRsaJwkFault({ ...goodRsaJwk, e }), null, e)
  for (const [what, jwk] of Object.entries(weakRsaJwks)) {
    assert.match(String(findRsaJwkFault(jwk)), /^(An|The) .*RSA key/, what)
  }
  for (const members of [
    { e: undefined },
    { n: undefined },
    { e: '' },
    { n: 4 },
    { e: 'AQAB=' },
    { e: Buffer.alloc(33, 0xff).toString('base64url') },
  ]) {
    assert.notEqual(findRsaJwkFault({ ...goodRsaJwk, ...members }), null, JSON.stringify(members))
  }
})

test('a key is judged in whichever form it came, and a key of another type is not', () => {
  for (const publicExponent of [3, 65_537]) {
    const isGood = publicExponent > 3
    for (const type of ['rsa', 'rsa-pss'] as const) {
      const options = { modulusLength: 2_048, publicExponent }
      const { publicKey } =
        type === 'rsa' ? generateKeyPairSync('rsa', options) : generateKeyPairSync(type, options)
      assert.equal(findRsaFault(publicKey) === null, isGood, `${type} ${publicExponent}`)
    }
  }
  const short = generateKeyPairSync('rsa-pss', { modulusLength: 1_024, publicExponent: 65_537 })
  assert.notEqual(findRsaFault(short.publicKey), null)
  assert.equal(findRsaFault(generateKeyPairSync('ed25519').publicKey), null)
  assert.equal(findRsaJwkFault({ kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA' }), null)
})

test('weak keys are left out of a set, and the others stay as they are', () => {
  const others = [{ ...goodRsaJwk, kid: 'good' }, { kty: 'OKP', crv: 'Ed25519', x: 'AA' }, null]
  const set = { keys: [...Object.values(weakRsaJwks), ...others], and: 1 }
  assert.deepEqual(withoutWeakRsaKeys(set), { keys: others, and: 1 })
  for (const none of [null, [], 'text', { keys: 'text' }]) {
    assert.deepEqual(withoutWeakRsaKeys(none), none)
  }
})

test('the fault of a base64url member names its place, and never its text', () => {
  const { n } = goodRsaJwk
  const broken = `${n.slice(0, 64)}\n${n.slice(64)}`
  const cases: readonly (readonly [Record<string, unknown>, RegExp])[] = [
    [{ n: broken }, /^The member n .* has a line break at character 65\.$/],
    [{ n: broken.replace('\n', '\r\n') }, /^The member n .* has a line break at character 65\.$/],
    [{ n: `${n.slice(0, 4)} ${n.slice(4)}` }, /has white space at character 5\.$/],
    [{ n: `${n}==` }, new RegExp(`has padding \\(=\\) at character ${n.length + 1}\\.$`)],
    [{ n: `+${n.slice(1)}` }, /has a character of base64 .* at character 1\.$/],
    [{ e: 'AQ*B' }, /^The member e .* has a character that is not allowed at character 3\.$/],
  ]
  for (const [members, expected] of cases) {
    const fault = findRsaJwkFault({ ...goodRsaJwk, ...members }) ?? ''
    assert.match(fault, expected)
    assert.ok(!fault.includes(n.slice(0, 8)))
  }
})
