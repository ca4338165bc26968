import assert from 'node:assert/strict'
import test from 'node:test'
import { findChipKeyVersion } from '../../src/domain/product-chip.ts'

test('a derivation key index stands for the listed version, or else for its own number', () => {
  const keyVersions = { C1: 1, '0A': 2, '02': 5 }
  assert.equal(findChipKeyVersion({ keyVersions }, 0xc1), 1)
  assert.equal(findChipKeyVersion({ keyVersions }, 0x0a), 2)
  assert.equal(findChipKeyVersion({ keyVersions }, 0x02), 5)
  assert.equal(findChipKeyVersion({ keyVersions }, 0x03), 3)
})
