import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { wrapKeyBlock } from '../../src/crypto/key-block.ts'
import { keyCatalogue } from '../../src/hsm/contract/catalogue.ts'
import { openSoftwareHsm } from '../../src/hsm/software/hsm.ts'
import { openSoftwareKeyEngine } from '../../src/hsm/software/key-engine.ts'
import { SecretKey } from '../../src/hsm/software/master-keys.ts'
import { hsmContract } from './contract.ts'
import { drawTdesKey } from './implementation.ts'

const bytes = randomBytes(32)
const masterKey = new SecretKey(bytes)
const engine = openSoftwareKeyEngine(masterKey)

hsmContract('software', async () => ({
  engine,
  openHsm: (options) => openSoftwareHsm({ masterKey, ...options }),
}))

const header = {
  version: 'D',
  keyUsage: 'V2',
  algorithm: 'T',
  modeOfUse: 'C',
  keyVersion: '00',
  exportability: 'N',
  reserved: '00',
  optionalBlocks: [],
} as const

test('a weak key is refused when it is used, even under the master key', async () => {
  const sound = drawTdesKey()
  await engine.open(keyCatalogue.pvk.kind, wrapKeyBlock(bytes, header, sound))
  const equalParts = Buffer.concat([sound.subarray(0, 8), sound.subarray(0, 8)])
  const evenParity = Buffer.from(sound.map((byte) => byte ^ 1))
  for (const weak of [equalParts, evenParity, Buffer.alloc(16, 1), sound.subarray(0, 8)]) {
    await assert.rejects(engine.open(keyCatalogue.pvk.kind, wrapKeyBlock(bytes, header, weak)))
  }
})

test('a key under another master key, or under a TDES key, does not open', async () => {
  const key = randomBytes(32)
  const under = { ...header, keyUsage: 'D0', algorithm: 'A', modeOfUse: 'B' }
  await engine.open(keyCatalogue.pan.kind, wrapKeyBlock(bytes, under, key))
  await assert.rejects(
    engine.open(keyCatalogue.pan.kind, wrapKeyBlock(randomBytes(32), under, key)),
  )
  const weaker = wrapKeyBlock(bytes.subarray(0, 16), { ...under, version: 'B' }, key)
  await assert.rejects(engine.open(keyCatalogue.pan.kind, weaker))
})
