import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { unwrapKeyBlock, wrapKeyBlock } from '../../src/crypto/key-block.ts'
import {
  type KeyBlockHeader,
  parseKeyBlockHeader,
  writeKeyBlockHeader,
} from '../../src/crypto/key-block-header.ts'
import { bytes, cases, fewerCases, refused } from './arbitraries.ts'

const characters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789']
const printable = Array.from({ length: 95 }, (_, at) => String.fromCharCode(32 + at))
const text = (unit: readonly string[], minLength: number, maxLength: number) =>
  fc.string({ unit: fc.constantFrom(...unit), minLength, maxLength })
const attribute = (length: number) => text(characters, length, length)

const plain = { noNullPrototype: true }

const optionalBlocks = fc.record(
  {
    // A padding block is written by us alone, so it does not come back as it was given.
    id: attribute(2).filter((id) => id !== 'PB'),
    content: fc.oneof(text(printable, 0, 20), fc.constant('long '.repeat(60))),
  },
  plain,
)

function headers(...versions: readonly KeyBlockHeader['version'][]): fc.Arbitrary<KeyBlockHeader> {
  return fc.record(
    {
      version: fc.constantFrom(...versions),
      keyUsage: attribute(2),
      algorithm: fc.constantFrom('A', 'T', 'H'),
      modeOfUse: attribute(1),
      keyVersion: attribute(2),
      exportability: fc.constantFrom('E', 'N', 'S'),
      reserved: fc.constant('00'),
      optionalBlocks: fc.array(optionalBlocks, { maxLength: 3 }),
    },
    plain,
  )
}

const plainHeader: KeyBlockHeader = {
  version: 'D',
  keyUsage: 'P0',
  algorithm: 'A',
  modeOfUse: 'E',
  keyVersion: '00',
  exportability: 'N',
  reserved: '00',
  optionalBlocks: [{ id: 'KS', content: '00604B120F9292800000' }],
}

test('a key and its header come back out of a key block', () => {
  const roundTrip = (kbpk: Uint8Array, header: KeyBlockHeader, key: Uint8Array) => {
    const unwrapped = unwrapKeyBlock(kbpk, wrapKeyBlock(kbpk, header, key))
    const kept = unwrapped.header.optionalBlocks.filter(({ id }) => id !== 'PB')
    assert.deepEqual(Buffer.from(unwrapped.key), Buffer.from(key))
    assert.deepEqual({ ...unwrapped.header, optionalBlocks: kept }, header)
  }
  const keys = bytes(8, 16, 24, 32, 5, 64)
  fc.assert(fc.property(bytes(16, 24), headers('B', 'D'), keys, roundTrip), cases)
})

test('a random key block with a random mutation is refused', () => {
  const made = (['B', 'D'] as const).flatMap((version) =>
    fc.sample(fc.tuple(bytes(16, 24), headers(version), bytes(16, 24, 32)), 100),
  )
  const blocks = made.map(([kbpk, header, key]) => ({
    kbpk,
    block: wrapKeyBlock(kbpk, header, key),
  }))
  const mutations = fc.array(fc.tuple(fc.nat(), fc.nat(7)), { minLength: 1, maxLength: 3 })
  fc.assert(
    fc.property(fc.constantFrom(...blocks), mutations, ({ kbpk, block }, changes) => {
      const mutated = Buffer.from(block)
      for (const [place, bit] of changes) {
        const at = place % block.length
        mutated[at] = (mutated[at] ?? 0) ^ (1 << bit)
      }
      fc.pre(mutated.toString('latin1') !== block)
      refused('key_block_refused', () => unwrapKeyBlock(kbpk, mutated.toString('latin1')))
    }),
    cases,
  )
})

for (const version of ['B', 'D'] as const) {
  test(`a key block of version ${version} with any one character changed is refused`, () => {
    const kbpk = Buffer.from('0123456789abcdeffedcba9876543210', 'hex')
    const block = wrapKeyBlock(kbpk, { ...plainHeader, version }, Buffer.alloc(16, 0x42))
    for (const [at, character] of [...block].entries()) {
      const flipped = Array.from({ length: 8 }, (_, bit) => character.charCodeAt(0) ^ (1 << bit))
      for (const other of [0x20, 0x30, 0x46, ...flipped].map((code) => String.fromCharCode(code))) {
        if (other === character) continue
        const mutated = block.slice(0, at) + other + block.slice(at + 1)
        refused('key_block_refused', () => unwrapKeyBlock(kbpk, mutated))
      }
    }
  })

  test(`a key block of version ${version} cut anywhere is refused`, () => {
    const kbpk = Buffer.alloc(16, 0x31)
    const block = wrapKeyBlock(kbpk, { ...plainHeader, version }, Buffer.alloc(16, 7))
    for (const end of block.slice(1).split('').keys()) {
      refused('key_block_refused', () => unwrapKeyBlock(kbpk, block.slice(0, end)))
    }
    refused('key_block_refused', () => unwrapKeyBlock(kbpk, `${block}00`))
  })
}

test('blocks of short and long keys of one algorithm have one length', () => {
  const lengths = [16, 24, 32].map(
    (length) => wrapKeyBlock(Buffer.alloc(32, 1), plainHeader, Buffer.alloc(length)).length,
  )
  assert.equal(new Set(lengths).size, 1)
})

test('a header that cannot be written unambiguously is refused', () => {
  const refusedHeaders: readonly Partial<KeyBlockHeader>[] = [
    { keyUsage: 'P' },
    { keyUsage: 'P', algorithm: '0A' },
    { modeOfUse: '*' },
    { optionalBlocks: [{ id: 'K', content: '' }] },
    { optionalBlocks: [{ id: 'KS', content: 'ü' }] },
    { optionalBlocks: [{ id: 'KS', content: 'x'.repeat(9_999) }] },
    { optionalBlocks: Array.from({ length: 100 }, () => ({ id: 'KS', content: '' })) },
  ]
  for (const fault of refusedHeaders) {
    refused('key_block_refused', () => writeKeyBlockHeader({ ...plainHeader, ...fault }))
  }
})

test('the normal form of a header is its own normal form', () => {
  const isNormal = (header: KeyBlockHeader) => {
    const text = writeKeyBlockHeader(header)
    assert.equal(writeKeyBlockHeader(parseKeyBlockHeader(text)), text)
  }
  fc.assert(fc.property(headers('B', 'D'), isNormal), fewerCases)
})

test('an empty key, a key of 8 KiB and padding that leaves a part block are refused', () => {
  const kbpk = Buffer.alloc(16, 1)
  refused('key_block_refused', () => wrapKeyBlock(kbpk, plainHeader, Buffer.alloc(0)))
  refused('key_block_refused', () => wrapKeyBlock(kbpk, plainHeader, Buffer.alloc(8192)))
  refused('key_block_refused', () =>
    wrapKeyBlock(kbpk, plainHeader, Buffer.alloc(16), Buffer.alloc(13)),
  )
})
