import type { Exportability, KeyUse } from '../key-engine.ts'
import type { KeyKind } from '../key-table.ts'

/**
 * A key in the token, as the key store keeps it: a URI in the form of RFC 7512. Its use stands in
 * the label, which cannot be changed in the token, so a reference cannot be given another use.
 */
export interface TokenKey {
  /** `pinfold-` and usage, algorithm, mode of use and exportability, as a key block has them. */
  readonly label: string
  /** 16 random bytes in hex: what belongs together in the token has one (CKA_ID). */
  readonly id: string
}

const form = /^pkcs11:object=(pinfold-[A-Z0-9]{2}[A-Z][A-Z][EN]);id=((?:%[0-9A-F]{2}){16})$/

export const referenceTo = ({ id, label }: TokenKey): string =>
  `pkcs11:object=${label};id=${id.toUpperCase().replace(/../g, '%$&')}`

/** @throws Error when it is no reference to a key in a token. */
export function readReference(reference: string): TokenKey {
  const [, label, id] = form.exec(reference) ?? []
  if (label === undefined || id === undefined) throw new Error('This is no key of a token.')
  return { label, id: id.replaceAll('%', '').toLowerCase() }
}

export const labelOf = (
  { algorithm, keyUsage, modeOfUse }: KeyKind,
  exportability: Exportability,
): string => `pinfold-${keyUsage}${algorithm}${modeOfUse}${exportability}`

/** What the label of a key says of it. */
export function useOf({ label }: TokenKey): KeyUse {
  const use = label.slice('pinfold-'.length)
  return {
    keyUsage: use.slice(0, 2),
    algorithm: use.slice(2, 3),
    modeOfUse: use.slice(3, 4),
    exportability: use.slice(4),
  }
}
