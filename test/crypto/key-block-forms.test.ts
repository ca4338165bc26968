import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encipherAesCbc } from '../../src/crypto/aes.ts'
import { aesCmac } from '../../src/crypto/cmac.ts'
import { unwrapKeyBlock, unwrapKeyBlockWith, wrapKeyBlock } from '../../src/crypto/key-block.ts'
import { deriveKeyBlockKeys } from '../../src/crypto/key-block-derivation.ts'
import {
  type KeyBlockHeader,
  parseKeyBlockHeader,
  readKeyBlockHeader,
  writeKeyBlockHeader,
} from '../../src/crypto/key-block-header.ts'
import { refused } from './arbitraries.ts'

/** Which forms a key block and its header may have, even where the MAC over them is right. */

const kbpk = Buffer.alloc(16, 0x31)
const key = Buffer.alloc(14, 0x42)

const plainHeader: KeyBlockHeader = {
  version: 'D',
  keyUsage: 'P0',
  algorithm: 'A',
  modeOfUse: 'E',
  keyVersion: '00',
  exportability: 'N',
  reserved: '00',
  optionalBlocks: [],
}

/** Two bytes of length, then what they are said to be the length of. */
const keyData = (bits: number, bytes: Uint8Array): Buffer => {
  const length = Buffer.alloc(2)
  length.writeUInt16BE(bits)
  return Buffer.concat([length, bytes])
}

/** A block whose MAC is right, whatever its header and its key data say. */
const sealBlock = (header: string, clear: Uint8Array): string => {
  const { kbak, kbek } = deriveKeyBlockKeys(kbpk, 'aesCmac')
  const tag = aesCmac(kbak, Buffer.concat([Buffer.from(header), clear]))
  const ciphertext = encipherAesCbc(kbek, tag, clear)
  return header + Buffer.concat([ciphertext, tag]).toString('hex').toUpperCase()
}

/** A header of version D that begins a block of some length, of one key and no optional block. */
const header = (length: number, more = '', count = '00'): string =>
  `D${String(length).padStart(4, '0')}P0AE00N${count}00${more}`

test('a block with the right MAC opens only if it is as long as it says', () => {
  const clear = keyData(112, key)
  assert.deepEqual(unwrapKeyBlock(kbpk, sealBlock(header(80), clear)).key, key)
  for (const length of [0, 64, 79, 81, 96]) {
    refused('key_block_refused', () => unwrapKeyBlock(kbpk, sealBlock(header(length), clear)))
  }
  refused('key_block_refused', () => unwrapKeyBlock(kbpk, `${sealBlock(header(81), clear)}0`))
  refused('key_block_refused', () => unwrapKeyBlock(kbpk, `${sealBlock(header(82), clear)}0x`))
})

test('a block with the right MAC opens only if its header fills whole blocks of the cipher', () => {
  const clear = keyData(112, key)
  const padded = sealBlock(header(96, 'KS08abcdPB080000', '02'), clear)
  assert.deepEqual(unwrapKeyBlock(kbpk, padded).key, key)
  const unpadded = sealBlock(header(88, 'KS08abcd', '01'), clear)
  assert.equal(unpadded.length, 88)
  refused('key_block_refused', () => unwrapKeyBlock(kbpk, unpadded))
})

test('a block with the right MAC opens only if it holds a key of whole bytes, and as much of it as it says', () => {
  for (const bits of [0, 7, 111, 113, 120, 0xffff]) {
    const block = sealBlock(header(80), keyData(bits, key))
    refused('key_block_refused', () => unwrapKeyBlock(kbpk, block))
  }
  refused('key_block_refused', () => unwrapKeyBlock(kbpk, sealBlock(header(48), Buffer.alloc(0))))
})

test('a key that fills its blocks needs no padding', () => {
  const block = wrapKeyBlock(kbpk, plainHeader, key, Buffer.alloc(0))
  assert.deepEqual(unwrapKeyBlock(kbpk, block).key, key)
})

test('a wrong MAC looks like any other fault under keys that are derived elsewhere, too', () => {
  const keys = deriveKeyBlockKeys(kbpk, 'aesCmac')
  const block = wrapKeyBlock(kbpk, plainHeader, key)
  assert.deepEqual(unwrapKeyBlockWith(() => keys, block).key, key)
  refused('key_block_refused', () =>
    unwrapKeyBlockWith(() => ({ ...keys, kbak: Buffer.alloc(16) }), block),
  )
  refused('key_block_refused', () => unwrapKeyBlockWith(() => keys, block.toLowerCase()))
})

test('keys of a block come from protection keys of the lengths that the method has', () => {
  for (const [method, lengths] of [
    ['tdesCmac', [0, 8, 17, 32]],
    ['aesCmac', [0, 8, 17, 64]],
  ] as const) {
    for (const length of lengths) {
      refused('key_derivation_refused', () => deriveKeyBlockKeys(Buffer.alloc(length), method))
    }
  }
})

test('an optional block ends no earlier than its own length field', () => {
  for (const block of ['KS01', 'KS03', 'KS0002000A', 'KS00020009']) {
    const text = header(64, block.padEnd(20, '0'), '01')
    if (block === 'KS0002000A') {
      assert.deepEqual(readKeyBlockHeader(text).header.optionalBlocks, [{ id: 'KS', content: '' }])
    } else refused('key_block_refused', () => readKeyBlockHeader(text))
  }
})

test('an extended length has one to four bytes, in hexadecimal capitals and nothing else', () => {
  const withLength = (length: string) => header(0, `KS00${length}`.padEnd(0x1a, 'x'), '01')
  for (const length of ['011A', '02001A', '0300001A', '040000001A']) {
    const [block] = parseKeyBlockHeader(withLength(length)).optionalBlocks
    assert.equal(block?.content, 'x'.repeat(0x1a - 4 - length.length))
  }
  for (const length of [
    ...['00', '05000000001A', '10001A', '1A', 'x2001A', '2 001A'],
    ...['021AG0', '021A 0', '020x1A', '02+01A', '02 01A', '02001a', '02G01A'],
  ]) {
    refused('key_block_refused', () => parseKeyBlockHeader(withLength(length)))
  }
  refused('key_block_refused', () => parseKeyBlockHeader(header(0, 'KS00020', '01')))
})

const optional = (length: number) => ({ id: 'KS', content: 'x'.repeat(length - 4) })

test('an optional block of 255 characters has a short length, one of 256 an extended one', () => {
  const written = (contentLength: number) =>
    writeKeyBlockHeader({ ...plainHeader, optionalBlocks: [optional(contentLength)] }).slice(16, 26)
  assert.equal(written(255), 'KSFFxxxxxx')
  assert.equal(written(256), 'KS00020106')
})

test('a padding block is as short as it can be', () => {
  const padding = (version: 'B' | 'D', length: number) =>
    writeKeyBlockHeader({ ...plainHeader, version, optionalBlocks: [optional(length)] }).slice(
      16 + length,
    )
  assert.equal(padding('B', 8), '')
  assert.equal(padding('B', 4), 'PB04')
  assert.equal(padding('B', 5), 'PB0B0000000')
  assert.equal(padding('D', 12), 'PB04')
  assert.equal(padding('D', 13), `PB13${'0'.repeat(15)}`)
})

test('a header has up to 99 optional blocks, and its block up to 9,999 characters', () => {
  const blocks = (count: number) => Array.from({ length: count }, () => optional(8))
  const written = writeKeyBlockHeader({
    ...plainHeader,
    version: 'B',
    optionalBlocks: blocks(99),
  })
  assert.equal(parseKeyBlockHeader(written).optionalBlocks.length, 99)
  refused('key_block_refused', () =>
    writeKeyBlockHeader({ ...plainHeader, version: 'B', optionalBlocks: blocks(100) }),
  )
  assert.equal(writeKeyBlockHeader(plainHeader, 9_983).slice(0, 5), 'D9999')
  refused('key_block_refused', () => writeKeyBlockHeader(plainHeader, 9_984))
})
