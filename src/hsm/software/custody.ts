import { unwrapKeyBlock, wrapKeyBlock } from '../../crypto/key-block.ts'
import type { KeyBlockHeader } from '../../crypto/key-block-header.ts'
import { codesByCipher } from '../contract/catalogue.ts'
import type { KeyCustody, KeyForm, MasterKeyCustody } from '../contract/key-administration.ts'
import { KeyRefusal, type WrappedKey } from '../contract/stored-keys.ts'
import { combinedKey, readComponent } from '../keys/components.ts'
import { computeKeyCheckValue, refuseOtherCheckValue } from '../keys/key-check.ts'
import { composeHeader, mayLeave, purposeIn, selectKeyKind } from '../keys/key-purposes.ts'
import { orProblem, refuseWeakerProtection, refuseWeakKey } from '../keys/key-strength.ts'
import * as transportedKeys from '../keys/transported-key.ts'
import type { MasterKeys } from './master-keys.ts'

const notExportable = (reference: string) =>
  `${reference} is not exportable. Generate a key with exportable, if its purpose allows that, ` +
  'and export it.'

/** Import and export of keys in this process's memory. */
export const keyCustody = (masterKeys: MasterKeys): KeyCustody => ({
  importKeyBlock: (purpose, zoneMasterKeyBlock, keyBlock, keyCheckValue) =>
    orProblem(() => {
      const zoneMasterKey = unwrapZoneMasterKey(masterKeys, zoneMasterKeyBlock)
      const protection = sized(zoneMasterKey.header, zoneMasterKey.key)
      transportedKeys.refuseOtherBlockVersion(protection, keyBlock)
      const { header, key } = unwrapKeyBlock(zoneMasterKey.key, keyBlock)
      refuseWeakKey(header.algorithm, key)
      const kind = transportedKeys.transportedKind(protection, purpose, {
        header,
        key,
        keyCheckValue,
      })
      // The sender can forbid the export of a key, but not allow it.
      const exportability = mayLeave(purpose) ? header.exportability : 'N'
      // The check value was already compared with the kind.
      return wrapKey(masterKeys, { ...kind, exportability }, key, null)
    }),
  exportKeyBlock: (reference, keyBlock, zoneMasterKeyBlock) =>
    orProblem(() => {
      const zoneMasterKey = unwrapZoneMasterKey(masterKeys, zoneMasterKeyBlock)
      const { header, key } = masterKeys.unwrap(keyBlock)
      if (header.exportability !== 'E') throw new KeyRefusal(notExportable(reference))
      refuseWeakerProtection(sized(zoneMasterKey.header, zoneMasterKey.key), sized(header, key))
      refuseWeakKey(header.algorithm, key)
      const version = transportedKeys.blockVersionUnder(zoneMasterKey.header)
      // The label is only meaningful in this installation.
      return wrapKeyBlock(zoneMasterKey.key, { ...header, version, optionalBlocks: [] }, key)
    }),
  importComponent: (form, component, keyCheckValue) =>
    orProblem(() => importComponent(masterKeys, form, component, keyCheckValue)),
  combineComponents: (purpose, form, componentBlocks, keyCheckValue) =>
    orProblem(() => {
      const components = componentBlocks.map((block) => {
        const { header, key } = masterKeys.unwrap(block)
        if (header.keyUsage === componentUse.keyUsage) return key
        throw new KeyRefusal('The value is not a key component.')
      })
      const use = { ...selectKeyKind(purpose, form), exportability: 'N' }
      return wrapKey(masterKeys, use, combinedKey(form, components), keyCheckValue)
    }),
  discardKey: null,
  masterKeys: masterKeyCustody(masterKeys),
})

const masterKeyCustody = (masterKeys: MasterKeys): MasterKeyCustody => ({
  checkValue: masterKeys.currentCheckValue,
  read: () =>
    orProblem(async () => {
      await masterKeys.reread()
      return { current: masterKeys.currentCheckValue(), present: masterKeys.checkValues() }
    }),
  rewrap: (keyBlock, purpose, checkValue) =>
    orProblem(() => {
      const { header, key } = masterKeys.unwrap(keyBlock)
      const exportability = header.exportability === 'E' ? 'E' : 'N'
      refuseOtherLabel(header, purpose)
      return masterKeys.wrap(composeHeader({ ...header, purpose }, exportability), key, checkValue)
    }),
})

/** Rejects a label of another purpose. Key blocks from before labels existed have none. */
function refuseOtherLabel(header: KeyBlockHeader, purpose: string): void {
  if ((purposeIn(header) ?? purpose) === purpose) return
  throw new KeyRefusal(`The key block of ${purpose} has another purpose in its label.`)
}

const sized = (
  { algorithm }: { readonly algorithm: string },
  key: Uint8Array,
): transportedKeys.Protection => ({
  algorithm,
  lengthBytes: key.length,
})

/** The attributes of an imported key. */
type WrappedUse = Pick<KeyBlockHeader, 'keyUsage' | 'algorithm' | 'modeOfUse' | 'exportability'> & {
  readonly purpose: string
}

/**
 * Wraps a key under the master key. Its key block keeps its attributes and gets the label of its
 * purpose.
 */
function wrapKey(
  masterKeys: MasterKeys,
  use: WrappedUse,
  key: Uint8Array,
  due: string | null,
): WrappedKey {
  refuseWeakKey(use.algorithm, key)
  refuseOtherCheckValue(use.algorithm, key, due)
  const exportability = use.exportability === 'E' ? 'E' : 'N'
  return {
    keyBlock: masterKeys.wrap(composeHeader(use, exportability), key),
    keyCheckValue: computeKeyCheckValue(use.algorithm, key),
  }
}

function unwrapZoneMasterKey(masterKeys: MasterKeys, keyBlock: string) {
  const zoneMasterKey = masterKeys.unwrap(keyBlock)
  if (zoneMasterKey.header.keyUsage !== 'K1')
    throw new KeyRefusal('The key is not a zone master key.')
  refuseOtherLabel(zoneMasterKey.header, 'zone-master')
  refuseWeakKey(zoneMasterKey.header.algorithm, zoneMasterKey.key)
  return zoneMasterKey
}

/** A usage of this service: a component can only be combined (X9.143:2021 6.2, table 5). */
const componentUse = { keyUsage: '10', modeOfUse: 'N', purpose: 'component' } as const

function importComponent(
  masterKeys: MasterKeys,
  form: KeyForm,
  component: string,
  due: string,
): WrappedKey {
  const { bytes, keyCheckValue } = readComponent(form, component, due)
  const header = composeHeader({ ...componentUse, algorithm: codesByCipher[form.algorithm] }, 'N')
  return { keyBlock: masterKeys.wrap(header, bytes), keyCheckValue }
}
