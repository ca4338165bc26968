import type { KeyBlockHeader } from '../crypto/key-block-header.ts'
import type { Exportability, KeyUse } from './key-engine.ts'

/** The optional block that names what a key is for (X9.143:2021 6.3.6, block `LB`: a label). */
const labelId = 'LB'

/** What a key block that is kept says of its key (X9.143:2021 6.2). Its MAC binds all of it. */
export const headerOf = (
  {
    algorithm,
    keyUsage,
    modeOfUse,
    purpose,
  }: Pick<KeyUse, 'algorithm' | 'keyUsage' | 'modeOfUse'> & { readonly purpose?: string },
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
