import type { Exportability, KeyUse } from '../key-engine.ts'
import type { KeyKind } from '../key-table.ts'

/**
 * A key in the token, as the key store keeps it: a URI in the form of RFC 7512. Its use stands in
 * the label, which cannot be changed in the token, so a reference cannot be given another use.
 */
export interface TokenKey {
  /**
   * `pinfold-` and usage, algorithm, mode of use and exportability, as a key block has them; then what it
   * is for, and of a symmetric key its length: `pinfold-P0TDN-zone-16`. Labels once had no more than the
   * first part.
   */
  readonly label: string
  /** 16 random bytes in hex: what belongs together in the token has one (CKA_ID). */
  readonly id: string
}

const labelForm =
  /^pinfold-(?<keyUsage>[A-Z0-9]{2})(?<algorithm>[A-Z])(?<modeOfUse>[A-Z])(?<exportability>[EN])(?:-(?<purpose>[a-z]+(?:-[a-z]+)*)(?:-(?<length>[0-9]{2}))?)?$/
const form = /^pkcs11:object=(pinfold-[A-Za-z0-9-]+);id=((?:%[0-9A-F]{2}){16})$/

export const referenceTo = ({ id, label }: TokenKey): string =>
  `pkcs11:object=${label};id=${id.toUpperCase().replace(/../g, '%$&')}`

/** @throws Error when it is no reference to a key in a token. */
export function readReference(reference: string): TokenKey {
  const [, label, id] = form.exec(reference) ?? []
  if (label === undefined || id === undefined || !labelForm.test(label))
    throw new Error('This is no key of a token.')
  return { label, id: id.replaceAll('%', '').toLowerCase() }
}

export const labelOf = (
  { algorithm, keyUsage, lengthBytes, modeOfUse, purpose }: KeyKind,
  exportability: Exportability,
): string => {
  const use = `pinfold-${keyUsage}${algorithm}${modeOfUse}${exportability}-${purpose}`
  return lengthBytes === null ? use : `${use}-${lengthBytes}`
}

/** What a label says of a key; null where it is of before labels said so. */
export interface TokenKeyUse extends KeyUse {
  readonly purpose: string | null
  readonly lengthBytes: number | null
}

/** What the label of a key says of it. */
export function useOf({ label }: TokenKey): TokenKeyUse {
  const parts = labelForm.exec(label)?.groups
  if (!parts) throw new Error('This is no key of a token.')
  const { algorithm = '', exportability = '', keyUsage = '', modeOfUse = '' } = parts
  const { length, purpose = null } = parts
  const lengthBytes = length === undefined ? null : Number(length)
  return { keyUsage, algorithm, modeOfUse, exportability, purpose, lengthBytes }
}
