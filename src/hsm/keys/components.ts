import { areEqualBytes } from '../../crypto/refusal.ts'
import { combineComponents, setOddParity } from '../../crypto/tdes-keys.ts'
import { codesByCipher } from '../contract/catalogue.ts'
import type { KeyForm } from '../contract/key-administration.ts'
import { KeyRefusal } from '../contract/stored-keys.ts'
import { computeKeyCheckValue, refuseOtherCheckValue } from './key-check.ts'

/** One component, in clear. */
interface ReadComponent {
  readonly bytes: Buffer
  readonly keyCheckValue: string
}

/**
 * Reads a component as one custodian enters it, in hexadecimal.
 * @throws KeyRefusal if the length or the check value differs, or if it is one repeated byte.
 */
export function readComponent(form: KeyForm, component: string, due: string): ReadComponent {
  const { lengthBytes } = form
  const algorithm = codesByCipher[form.algorithm]
  const isHex = /^[0-9A-Fa-f]+$/.test(component) && component.length === 2 * lengthBytes
  if (!isHex) throw new KeyRefusal(`A component must have ${2 * lengthBytes} hexadecimal digits.`)
  const bytes = Buffer.from(component, 'hex')
  // A component of zeros would leave the whole key to the other custodians.
  if (bytes.every((byte) => byte === bytes[0])) throw new KeyRefusal('The component is weak.')
  refuseOtherCheckValue(algorithm, bytes, due)
  return { bytes, keyCheckValue: computeKeyCheckValue(algorithm, bytes) }
}

/**
 * Combines components into a key (PCI PIN Security 3.1, requirement 12). Components of odd parity
 * give a key of even parity, which is then adjusted (X9.24-1).
 * @throws KeyRefusal if two components are equal: they cancel out, and one custodian knows the
 *   rest.
 */
export function combinedKey({ algorithm }: KeyForm, components: readonly Uint8Array[]): Buffer {
  const adjusted = components.map((component) =>
    algorithm === 'TDES' ? setOddParity(component) : component,
  )
  const areSame = adjusted.some((one, at) =>
    adjusted.slice(at + 1).some((other) => areEqualBytes(one, other)),
  )
  if (areSame) throw new KeyRefusal('Two components are equal.')
  const key = combineComponents(components)
  return algorithm === 'TDES' ? setOddParity(key) : key
}
