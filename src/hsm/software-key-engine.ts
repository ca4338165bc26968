import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { setOddParity } from '../crypto/des-parity.ts'
import { unwrapKeyBlock, wrapKeyBlock } from '../crypto/key-block.ts'
import type { KeyBlockHeader } from '../crypto/key-block-header.ts'
import { aesKeyCheckValue, tdesKeyCheckValue } from '../crypto/key-check-value.ts'
import type { KeyEngine } from './key-engine.ts'
import type { KeyKind } from './key-table.ts'
import type { SecretKey } from './secret-key.ts'
import { softwareKeys } from './software-keys.ts'

/** Keys that work in this process and are kept as X9.143 key blocks of version D under a master key. */
export const openSoftwareKeyEngine = (masterKey: SecretKey): KeyEngine => ({
  async generate(kind) {
    const bytes = drawKey(kind)
    return {
      keyBlock: wrapKeyBlock(masterKey.reveal(), headerOf(kind), bytes),
      keyCheckValue: checks[kind.algorithm](bytes),
    }
  },
  async open(kind, keyBlock) {
    const { header, key } = unwrapKeyBlock(masterKey.reveal(), keyBlock)
    // A block moved to another row must not turn a key into one with another use.
    if (header.keyUsage !== kind.keyUsage || header.algorithm !== kind.algorithm) {
      throw new Error('This key block is for another use.')
    }
    return softwareKeys[kind.action](kind, key)
  },
})

function drawKey({ algorithm, lengthBytes }: KeyKind): Uint8Array {
  if (lengthBytes === null) {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    return privateKey.export({ format: 'der', type: 'pkcs8' })
  }
  const bytes = randomBytes(lengthBytes)
  return algorithm === 'T' ? setOddParity(bytes) : bytes
}

const headerOf = ({ algorithm, keyUsage, modeOfUse }: KeyKind): KeyBlockHeader => ({
  version: 'D',
  keyUsage,
  algorithm,
  modeOfUse,
  keyVersion: '00',
  exportability: 'N',
  reserved: '00',
  optionalBlocks: [],
})

const checks: Record<KeyKind['algorithm'], (bytes: Uint8Array) => string> = {
  A: (bytes) => aesKeyCheckValue(bytes).toString('hex').toUpperCase(),
  T: (bytes) => tdesKeyCheckValue(bytes).toString('hex').toUpperCase(),
  // X9.143 defines none for these: the name of the key and its version must do.
  H: () => '',
  E: () => '',
}
