import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { wrapKeyBlock } from '../../../src/crypto/key-block.ts'
import { aesKeyCheckValue } from '../../../src/crypto/key-check-value.ts'
import { type MacUsage, macUsages } from '../../../src/hsm/contract/catalogue.ts'
import { vectors } from '../../listeners/iso8583/vectors.ts'
import { drawTdesKey, fitTdesKey, openWith, type Subject, vectorsOf } from '../implementation.ts'

const bytesOf = (hex: string): Buffer => Buffer.from(hex, 'hex')

const usageOf = (algorithm: string): MacUsage => (algorithm.includes('retail') ? 'M3' : 'M1')

const fitKeyOf = (usage: MacUsage): Buffer =>
  macUsages[usage].cipher === 'AES' ? randomBytes(32) : drawTdesKey()

const usages = Object.keys(macUsages) as MacUsage[]

export function macGuarantees(subject: Subject): void {
  test('the published MACs of messages are made and verified', async () => {
    const hsm = await openWith(subject())
    for (const { algorithm, data, id, key, mac, macWhole = mac } of vectors.macs) {
      const usage = usageOf(algorithm)
      const { keyBlock } = await hsm.importClearMacKey(usage, fitTdesKey(key) ?? bytesOf(key))
      const message = bytesOf(data)
      const made = Buffer.from(await hsm.generateMac(keyBlock, message))
      assert.equal(made.toString('hex').toUpperCase(), macWhole, id)
      assert.equal(await hsm.verifyMac(keyBlock, message, bytesOf(mac)), true, id)
      const other = Buffer.from(message)
      other[0] = (other[0] ?? 0) ^ 1
      assert.equal(await hsm.verifyMac(keyBlock, other, bytesOf(mac)), false, id)
    }
  })

  test('a MAC of AES is the left half of the published CMAC', async () => {
    type Cmac = { key: string; message: string }
    const rows = vectorsOf<Cmac, { mac: string }>('aes-cmac', 'cmac').filter(
      ({ expected, inputs }) =>
        [16, 24, 32].includes(bytesOf(inputs.key).length) && expected.mac.length === 32,
    )
    const hsm = await openWith(subject())
    let seen = 0
    for (const { expected, inputs } of rows) {
      const imported = await hsm.importClearMacKey('M6', bytesOf(inputs.key)).catch(() => null)
      if (!imported) continue
      seen += 1
      const made = Buffer.from(await hsm.generateMac(imported.keyBlock, bytesOf(inputs.message)))
      assert.equal(made.toString('hex').toUpperCase(), expected.mac.slice(0, 16).toUpperCase())
    }
    assert(seen >= 4, `${seen} of ${rows.length}`)
  })

  test('a MAC of less than four bytes, or with one bit changed, is never right', async () => {
    const hsm = await openWith(subject())
    for (const usage of usages) {
      const { keyBlock } = await hsm.importClearMacKey(usage, fitKeyOf(usage))
      const message = randomBytes(57)
      const mac = Buffer.from(await hsm.generateMac(keyBlock, message))
      assert.equal(mac.length, 8)
      for (const length of [4, 8]) {
        assert.equal(await hsm.verifyMac(keyBlock, message, mac.subarray(0, length)), true, usage)
      }
      for (const length of [0, 1, 3]) {
        assert.equal(await hsm.verifyMac(keyBlock, message, mac.subarray(0, length)), false, usage)
      }
      const changed = Buffer.from(mac)
      changed[3] = (changed[3] ?? 0) ^ 0x10
      assert.equal(await hsm.verifyMac(keyBlock, message, changed), false, usage)
      assert.equal(await hsm.verifyMac(keyBlock, message, Buffer.concat([mac, mac])), false, usage)
    }
  })

  test('a key for MACs opens no PIN block, and a key for PIN blocks makes no MAC', async () => {
    const hsm = await openWith(subject())
    const pins = await hsm.importClearZoneKey('TDES', drawTdesKey())
    await assert.rejects(hsm.generateMac(pins.keyBlock, Buffer.from('message')))
    const macs = await hsm.importClearMacKey('M3', drawTdesKey())
    const card = await hsm.generateCardNumber('400000', 'cvk')
    const block = {
      format: 'ISO_FORMAT_0',
      bytes: randomBytes(8),
      zoneKeyBlock: macs.keyBlock,
    } as const
    await assert.rejects(hsm.openPinBlock(card, block))
  })

  test('a key for MACs is taken in for the usage that its key block says, and for no other', async () => {
    const hsm = await openWith(subject())
    const components = [randomBytes(32), randomBytes(32)]
    const zoneMasterKey = Buffer.from(
      (components[0] as Buffer).map((byte, at) => byte ^ (components[1]?.[at] ?? 0)),
    )
    const form = { algorithm: 'AES', lengthBytes: 32 } as const
    const checkValueOf = (key: Uint8Array) => aesKeyCheckValue(key).toString('hex')
    const blocks = []
    for (const component of components) {
      const hex = component.toString('hex')
      blocks.push((await hsm.custody.importComponent(form, hex, checkValueOf(component))).keyBlock)
    }
    const master = await hsm.custody.combineComponents(
      { family: 'zone-master' },
      form,
      blocks,
      checkValueOf(zoneMasterKey),
    )
    const header = {
      version: 'D',
      keyUsage: 'M3',
      algorithm: 'T',
      modeOfUse: 'C',
      keyVersion: '00',
      exportability: 'N',
      reserved: '00',
      optionalBlocks: [],
    } as const
    const key = drawTdesKey()
    const importAs = (macUsage: MacUsage, block: string, checkValue: string | null = null) =>
      hsm.custody.importKeyBlock({ family: 'zone', macUsage }, master.keyBlock, block, checkValue)
    const block = wrapKeyBlock(zoneMasterKey, header, key)
    const imported = await importAs('M3', block)
    assert.equal((await hsm.generateMac(imported.keyBlock, Buffer.from('a'))).length, 8)
    await assert.rejects(importAs('M1', block), { code: 'key_refused' })
    await assert.rejects(importAs('M3', block, '000000'), { code: 'key_refused' })
    await assert.rejects(
      hsm.custody.importKeyBlock({ family: 'zone' }, master.keyBlock, block, null),
      {
        code: 'key_refused',
      },
    )
    const forPins = wrapKeyBlock(zoneMasterKey, { ...header, keyUsage: 'P0', modeOfUse: 'B' }, key)
    await assert.rejects(importAs('M3', forPins), { code: 'key_refused' })
  })

  test('a key for MACs is generated in the length of its usage', async () => {
    const hsm = await openWith(subject())
    for (const macUsage of usages) {
      const { keyBlock } = await hsm.generateKey({ family: 'zone', macUsage }, null, false)
      assert.equal(hsm.describeKey(keyBlock).keyUsage, macUsage)
      const mac = await hsm.generateMac(keyBlock, Buffer.from('message'))
      assert.equal(await hsm.verifyMac(keyBlock, Buffer.from('message'), mac), true)
    }
    await assert.rejects(
      hsm.generateKey(
        { family: 'zone', macUsage: 'M3' },
        { algorithm: 'TDES', lengthBytes: 24 },
        false,
      ),
      { code: 'key_refused' },
    )
  })
}
