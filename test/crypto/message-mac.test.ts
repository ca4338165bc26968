import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aesBlockLength, encipherAesCbc } from '../../src/crypto/aes.ts'
import { aesCmac } from '../../src/crypto/cmac.ts'
import { type MacChain, messageMacs } from '../../src/crypto/message-mac.ts'
import { CryptoRefusal } from '../../src/crypto/refusal.ts'
import { desBlockLength, encipherTdesCbc } from '../../src/crypto/tdes.ts'
import { vectors } from '../listeners/iso8583/vectors.ts'

/** A key of this process as a MAC's methods use it. */
const tdesChain = (key: Uint8Array): MacChain => {
  const under = async (part: Uint8Array, blocks: Uint8Array): Promise<Buffer> =>
    encipherTdesCbc(part, Buffer.alloc(desBlockLength), blocks).subarray(-desBlockLength)
  return {
    withA: (blocks) => under(key.subarray(0, desBlockLength), blocks),
    withWhole: (blocks) => under(key, blocks),
  }
}

const aesChain = (key: Uint8Array): MacChain => ({
  withA: () => Promise.reject(new Error('AES has no halves')),
  withWhole: async (blocks) =>
    encipherAesCbc(key, Buffer.alloc(aesBlockLength), blocks).subarray(-aesBlockLength),
})

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex').toUpperCase()
const bytesOf = (hex: string): Buffer => Buffer.from(hex, 'hex')
const methodOf = (algorithm: string) => (algorithm.includes('retail') ? 'retail' : 'cbc')

test('the published MACs of messages come out whole', async () => {
  for (const { algorithm, data, id, key, mac, macWhole = mac } of vectors.macs) {
    const made = await messageMacs[methodOf(algorithm)](tdesChain(bytesOf(key)), bytesOf(data))
    assert.equal(hexOf(made), macWhole, id)
  }
})

test('a message of one block has the same MAC by both methods of TDES, a longer one has not', async () => {
  const chain = tdesChain(bytesOf('0123456789ABCDEFFEDCBA9876543210'))
  for (const [length, isSame] of [
    [1, true],
    [7, true],
    [8, true],
    [9, false],
    [16, false],
  ] as const) {
    const message = Buffer.alloc(length, 0x31)
    const [cbc, retail] = [
      await messageMacs.cbc(chain, message),
      await messageMacs.retail(chain, message),
    ]
    assert.equal(cbc.equals(retail), isSame, `${length} bytes`)
    assert.equal(cbc.length, 8)
  }
})

test('a message is padded with zeros to whole blocks, and one of whole blocks with nothing', async () => {
  const chain = tdesChain(bytesOf('0123456789ABCDEFFEDCBA9876543210'))
  for (const method of ['cbc', 'retail'] as const) {
    const short = await messageMacs[method](chain, Buffer.from('123456789'))
    const padded = Buffer.concat([Buffer.from('123456789'), Buffer.alloc(7)])
    assert.deepEqual(short, await messageMacs[method](chain, padded))
    const longer = Buffer.concat([padded, Buffer.alloc(8)])
    assert.notDeepEqual(short, await messageMacs[method](chain, longer))
  }
})

test('a message without a byte has no MAC of TDES', async () => {
  const chain = tdesChain(Buffer.alloc(16, 1))
  for (const method of ['cbc', 'retail'] as const) {
    // In its turn, whether it is thrown at once or rejected.
    await assert.rejects(
      async () => messageMacs[method](chain, Buffer.alloc(0)),
      (error) => error instanceof CryptoRefusal && error.code === 'message_mac_refused',
    )
  }
})

test('a MAC of AES is the left half of the CMAC, whatever the length of the message', async () => {
  const key = bytesOf('2B7E151628AED2A6ABF7158809CF4F3C')
  for (const length of [0, 1, 15, 16, 17, 40, 64]) {
    const message = Buffer.alloc(length, 0x6b)
    const made = await messageMacs.cmac(aesChain(key), message)
    assert.deepEqual(made, aesCmac(key, message).subarray(0, 8))
  }
})
