import type { KeyBlockHeader } from '../../crypto/key-block-header.ts'
import * as catalogue from '../contract/catalogue.ts'
import type { KeyAttributes, KeyForm, KeyPurpose } from '../contract/key-administration.ts'
import { KeyRefusal } from '../contract/stored-keys.ts'
import type { Exportability } from './key-engine.ts'

/** What keys of each family may be (X9.143, tables 5 to 7). */
const families = {
  zone: { keyUsage: 'P0', modesOfUse: ['B', 'D'], lengths: { A: [16, 24, 32], T: [16, 24] } },
  'zone-master': { keyUsage: 'K1', modesOfUse: ['B'], lengths: { A: [16, 24, 32], T: [16, 24] } },
} as const

const keyLengths = [16, 24, 32] as const

/** The kind of key that a purpose asks for. @throws KeyRefusal when the form does not fit it. */
export function selectKeyKind(purpose: KeyPurpose, form: KeyForm | null): catalogue.KeyKind {
  if (purpose.family === 'installation') {
    const { keyName } = purpose
    if (!catalogue.isInstallationKey(keyName))
      throw new KeyRefusal('The installation has no key of this name.')
    const kind: catalogue.KeyKind = catalogue.keyCatalogue[keyName].kind
    const isForm =
      form === null ||
      (catalogue.codesByCipher[form.algorithm] === kind.algorithm &&
        form.lengthBytes === kind.lengthBytes)
    if (!isForm)
      throw new KeyRefusal('The algorithm or length does not match the purpose of the key.')
    return kind
  }
  if ('macUsage' in purpose && purpose.macUsage) return selectMacKind(purpose.macUsage, form)
  const { algorithm, lengthBytes } = form ?? { algorithm: 'AES', lengthBytes: 32 }
  const { keyUsage, lengths } = families[purpose.family]
  const code = catalogue.codesByCipher[algorithm]
  const length = keyLengths.find((each) => each === lengthBytes)
  if (length === undefined || !(lengths[code] as readonly number[]).includes(length)) {
    throw new KeyRefusal('The key length is not supported.')
  }
  return {
    purpose: purpose.family,
    keyUsage,
    algorithm: code,
    modeOfUse: 'B',
    action: 'blocks',
    lengthBytes: length,
  }
}

/** What a network's key for MACs is: its whole usage is in the kind. */
export function selectMacKind(
  usage: catalogue.MacUsage,
  form: KeyForm | null = null,
): catalogue.KeyKind & { readonly action: 'chain' } {
  const { cipher } = catalogue.macUsages[usage]
  // The retail MAC has a pair of keys; a MAC of AES is as strong with any.
  const tdesLengths = usage === 'M3' ? ([16] as const) : ([16, 24] as const)
  const lengthsOfCipher: readonly (16 | 24 | 32)[] = cipher === 'AES' ? [32, 24, 16] : tdesLengths
  const { algorithm, lengthBytes } = form ?? {
    algorithm: cipher,
    lengthBytes: lengthsOfCipher[0] ?? 16,
  }
  const length = lengthsOfCipher.find((each) => each === lengthBytes)
  if (algorithm !== cipher || length === undefined) {
    throw new KeyRefusal('The algorithm or length does not match the MAC usage.')
  }
  return {
    purpose: 'zone',
    keyUsage: usage,
    algorithm: catalogue.codesByCipher[cipher],
    modeOfUse: 'C',
    action: 'chain',
    lengthBytes: length,
  }
}

/**
 * Whether keys of a purpose may ever leave: zone keys are another's too, zone master keys never do.
 */
export const mayLeave = (purpose: KeyPurpose): boolean =>
  purpose.family === 'installation'
    ? catalogue.isInstallationKey(purpose.keyName) &&
      catalogue.keyCatalogue[purpose.keyName].mayLeave
    : purpose.family === 'zone'

/**
 * The kind that a key block's key becomes: of the purpose, in the mode of use that the block names.
 * @throws KeyRefusal when the key is for another use than the purpose.
 */
export function refuseOtherPurpose(
  purpose: KeyPurpose,
  use: KeyAttributes,
  lengthBytes: number,
): catalogue.KeyKind {
  const kind = selectKeyKind(purpose, {
    algorithm: catalogue.parseCipher(use.algorithm),
    lengthBytes,
  })
  const hasOneMode = purpose.family === 'installation' || kind.action === 'chain'
  const modes: readonly string[] = hasOneMode
    ? [kind.modeOfUse]
    : families[purpose.family === 'zone' ? 'zone' : 'zone-master'].modesOfUse
  if (use.keyUsage !== kind.keyUsage || !modes.includes(use.modeOfUse)) {
    throw new KeyRefusal('The key block is for another use.')
  }
  return { ...kind, modeOfUse: use.modeOfUse }
}

/** The optional block that names what a key is for (X9.143:2021 6.3.6, block `LB`: a label). */
const labelId = 'LB'

/** Composes the header of a wrapped key's block (X9.143:2021 6.2). Its MAC binds all of it. */
export const composeHeader = (
  {
    algorithm,
    keyUsage,
    modeOfUse,
    purpose,
  }: Pick<KeyAttributes, 'algorithm' | 'keyUsage' | 'modeOfUse'> & { readonly purpose?: string },
  exportability: Exportability,
): KeyBlockHeader => ({
  version: 'D',
  keyUsage,
  algorithm,
  modeOfUse,
  keyVersion: '00',
  exportability,
  reserved: '00',
  optionalBlocks: purpose === undefined ? [] : [{ id: labelId, content: purpose }],
})

/** What a key is for, or null in a block that was made before blocks said so. */
export const purposeIn = ({ optionalBlocks }: KeyBlockHeader): string | null =>
  optionalBlocks.find(({ id }) => id === labelId)?.content ?? null
