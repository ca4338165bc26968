import { setOddParity } from '../crypto/des-parity.ts'
import { areEqualBytes } from '../crypto/equal-bytes.ts'
import { unwrapKeyBlock, wrapKeyBlock } from '../crypto/key-block.ts'
import type { KeyBlockHeader } from '../crypto/key-block-header.ts'
import { combineComponents } from '../crypto/key-components.ts'
import type { KeptKey, KeyCustody, KeyForm } from './key-administration.ts'
import { keyCheckValueOf } from './key-check.ts'
import { orProblem } from './key-problem.ts'
import { kindOf, refuseOtherPurpose } from './key-purposes.ts'
import { KeyRefusal, refuseWeakerProtection, refuseWeakKey } from './key-strength.ts'
import type { MasterKeys } from './master-keys.ts'
import { headerOf } from './software-key-engine.ts'

/** Keys that come and go, in this process's memory. */
export const keyCustody = (masterKeys: MasterKeys): KeyCustody => ({
  importKeyBlock: (purpose, zoneMasterKeyBlock, keyBlock, keyCheckValue) =>
    orProblem(() => {
      const zoneMasterKey = unwrapZoneMasterKey(masterKeys, zoneMasterKeyBlock)
      const { header, key } = unwrapKeyBlock(zoneMasterKey.key, keyBlock)
      refuseWeakerProtection(sized(zoneMasterKey.header, zoneMasterKey.key), sized(header, key))
      refuseOtherPurpose(purpose, header, key.length)
      return keep(masterKeys, header, key, keyCheckValue)
    }),
  exportKeyBlock: (keyBlock, zoneMasterKeyBlock) =>
    orProblem(() => exportUnder(masterKeys, keyBlock, zoneMasterKeyBlock)),
  keepComponent: (form, component, keyCheckValue) =>
    orProblem(() => keepComponent(masterKeys, form, component, keyCheckValue)),
  combineComponents: (purpose, form, componentBlocks, keyCheckValue) =>
    orProblem(() => {
      const components = componentBlocks.map((block) => unwrapComponent(masterKeys, block))
      const header = headerOf(kindOf(purpose, form), 'N')
      return keep(masterKeys, header, formedKey(form, combineComponents(components)), keyCheckValue)
    }),
  masterKeyCheckValue: masterKeys.currentCheckValue,
  async readMasterKeys() {
    await masterKeys.reread()
    return { current: masterKeys.currentCheckValue(), present: masterKeys.checkValues() }
  },
  async rewrapKeyBlock(keyBlock, masterKeyCheckValue) {
    const { header, key } = masterKeys.unwrap(keyBlock)
    return masterKeys.wrap(header, key, masterKeyCheckValue)
  },
})

/** Components of odd parity make a key of even parity, which is then set (X9.24-1). */
const formedKey = ({ algorithm }: KeyForm, key: Uint8Array): Uint8Array =>
  algorithm === 'TDES' ? setOddParity(key) : key

const sized = ({ algorithm }: { readonly algorithm: string }, key: Uint8Array) => ({
  algorithm,
  lengthBytes: key.length,
})

/** Keeps a key under the master key. Its key block says what it said before. */
function keep(
  masterKeys: MasterKeys,
  header: KeyBlockHeader,
  key: Uint8Array,
  due: string | null,
): KeptKey {
  refuseWeakKey(header.algorithm, key)
  const keyCheckValue = keyCheckValueOf(header.algorithm, key)
  refuseOtherCheckValue(keyCheckValue, due)
  const exportability = header.exportability === 'E' ? 'E' : 'N'
  return { keyBlock: masterKeys.wrap(headerOf(header, exportability), key), keyCheckValue }
}

/** Check values are told with three bytes or with all that there are: both are compared as they stand. */
function refuseOtherCheckValue(keyCheckValue: string, due: string | null): void {
  if (due === null) return
  const given = Buffer.from(due.toUpperCase())
  const own = Buffer.from(keyCheckValue.slice(0, given.length))
  if (given.length < 6 || !areEqualBytes(given, own)) {
    throw new KeyRefusal('The key has another check value.')
  }
}

function unwrapZoneMasterKey(masterKeys: MasterKeys, keyBlock: string) {
  const zoneMasterKey = masterKeys.unwrap(keyBlock)
  if (zoneMasterKey.header.keyUsage !== 'K1') throw new KeyRefusal('This is no zone master key.')
  refuseWeakKey(zoneMasterKey.header.algorithm, zoneMasterKey.key)
  return zoneMasterKey
}

function exportUnder(masterKeys: MasterKeys, keyBlock: string, zoneMasterKeyBlock: string): string {
  const zoneMasterKey = unwrapZoneMasterKey(masterKeys, zoneMasterKeyBlock)
  const { header, key } = masterKeys.unwrap(keyBlock)
  if (header.exportability !== 'E') throw new KeyRefusal('This key may not leave.')
  refuseWeakerProtection(sized(zoneMasterKey.header, zoneMasterKey.key), sized(header, key))
  const version = zoneMasterKey.header.algorithm === 'A' ? 'D' : 'B'
  return wrapKeyBlock(zoneMasterKey.key, { ...header, version }, key)
}

/** A usage of our own: a component opens for nothing but to be combined (X9.143:2021 6.2, table 5). */
const componentUsage = '10'

function keepComponent(
  masterKeys: MasterKeys,
  { algorithm, lengthBytes }: KeyForm,
  component: string,
  due: string,
): KeptKey {
  const isHex = /^[0-9A-Fa-f]+$/.test(component) && component.length === 2 * lengthBytes
  if (!isHex) throw new KeyRefusal(`A component has ${2 * lengthBytes} hexadecimal digits.`)
  const bytes = Buffer.from(component, 'hex')
  // Of zeros, it leaves the whole key to the others.
  if (bytes.every((byte) => byte === bytes[0])) throw new KeyRefusal('The component is weak.')
  const code = algorithm === 'AES' ? 'A' : 'T'
  const keyCheckValue = keyCheckValueOf(code, bytes)
  refuseOtherCheckValue(keyCheckValue, due)
  const header = headerOf({ keyUsage: componentUsage, algorithm: code, modeOfUse: 'N' }, 'N')
  return { keyBlock: masterKeys.wrap(header, bytes), keyCheckValue }
}

function unwrapComponent(masterKeys: MasterKeys, keyBlock: string): Uint8Array {
  const { header, key } = masterKeys.unwrap(keyBlock)
  if (header.keyUsage !== componentUsage) throw new KeyRefusal('This is no key component.')
  return key
}
