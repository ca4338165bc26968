import type { KeyBlockHeader } from '../../crypto/key-block-header.ts'
import * as catalogue from '../contract/catalogue.ts'
import type { KeyAttributes, KeyForm, KeyPurpose } from '../contract/key-administration.ts'
import { KeyRefusal } from '../contract/stored-keys.ts'
import type { Exportability } from './key-engine.ts'

/** The allowed attributes of each key family (X9.143, tables 5 to 7). */
const families = {
  zone: { keyUsage: 'P0', modesOfUse: ['B', 'D'], lengths: { A: [16, 24, 32], T: [16, 24] } },
  'zone-master': { keyUsage: 'K1', modesOfUse: ['B'], lengths: { A: [16, 24, 32], T: [16, 24] } },
} as const

const keyLengths = [16, 24, 32] as const

/**
 * Selects the kind of key for a purpose.
 * @throws KeyRefusal if the form does not match the purpose.
 */
export function selectKeyKind(purpose: KeyPurpose, form: KeyForm | null): catalogue.KeyKind {
  if (purpose.family === 'installation') {
    const { keyName } = purpose
    if (!catalogue.isInstallationKey(keyName))
      throw new KeyRefusal('The installation has no key of this name. List the keys.')
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

/** Selects the kind of a network's MAC key. The kind contains the whole usage. */
export function selectMacKind(
  usage: catalogue.MacUsage,
  form: KeyForm | null = null,
): catalogue.KeyKind & { readonly action: 'chain' } {
  const { cipher } = catalogue.macUsages[usage]
  // The retail MAC needs a key pair; AES MACs are equally strong with all lengths.
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
 * Whether keys of a purpose can be exported: zone keys are shared with another party, zone master
 * keys never leave.
 */
export const mayLeave = (purpose: KeyPurpose): boolean =>
  purpose.family === 'installation'
    ? catalogue.isInstallationKey(purpose.keyName) &&
      catalogue.keyCatalogue[purpose.keyName].mayLeave
    : purpose.family === 'zone'

/**
 * Selects the kind of a key in a key block: the kind of the purpose, with the mode of use of the
 * block.
 * @throws KeyRefusal if the key has another use than the purpose.
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
  if (isChipMaster(kind) && use.keyUsage === kind.keyUsage && use.modeOfUse === 'N') return kind
  const hasOneMode = purpose.family === 'installation' || kind.action === 'chain'
  const modes: readonly string[] = hasOneMode
    ? [kind.modeOfUse]
    : families[purpose.family === 'zone' ? 'zone' : 'zone-master'].modesOfUse
  if (use.keyUsage !== kind.keyUsage || !modes.includes(use.modeOfUse)) {
    throw new KeyRefusal('The key block is for another use.')
  }
  return { ...kind, modeOfUse: use.modeOfUse }
}

/**
 * Master keys of issuers also travel without a restriction of their mode, which their usage implies
 * (X9.143, tables 5 and 7). They are stored for derivation only.
 */
const isChipMaster = ({ purpose }: catalogue.KeyKind): boolean =>
  catalogue.chipKeyNames.some((name) => name === purpose)

/** The optional block that names the purpose of a key (X9.143:2021 6.3.6, block `LB`: a label). */
const labelId = 'LB'

/**
 * Composes the header of a wrapped key's block (X9.143:2021 6.2). The block's MAC authenticates it.
 */
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

/** Returns the purpose of a key, or null for a block from before blocks named the purpose. */
export const purposeIn = ({ optionalBlocks }: KeyBlockHeader): string | null =>
  optionalBlocks.find(({ id }) => id === labelId)?.content ?? null
