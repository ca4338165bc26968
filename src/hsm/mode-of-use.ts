import type { BlockKey } from './working-key.ts'

/** What a mode of use lets a key over blocks do (X9.143, table 7); a PVK (`C`) makes and never opens. */
const allowed: Readonly<Record<string, readonly ('encipher' | 'decipher')[]>> = {
  B: ['encipher', 'decipher'],
  C: ['encipher'],
  D: ['decipher'],
}

/** The same key, which does what its mode of use allows and throws Error at the rest. */
export function inMode(modeOfUse: string, key: BlockKey): BlockKey {
  const can = allowed[modeOfUse] ?? []
  return {
    cipher: key.cipher,
    encipher: can.includes('encipher') ? key.encipher : refuse,
    decipher: can.includes('decipher') ? key.decipher : refuse,
  }
}

const refuse = async (): Promise<never> => {
  throw new Error('The mode of use of this key does not allow it.')
}
