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
 * Reads a component as one person brings it, in hexadecimal.
 * @throws KeyRefusal when it is of another length or check value, or one repeated byte.
 */
export function readComponent(form: KeyForm, component: string, due: string): ReadComponent {
  const { lengthBytes } = form
  const algorithm = codesByCipher[form.algorithm]
  const isHex = /^[0-9A-Fa-f]+$/.test(component) && component.length === 2 * lengthBytes
  if (!isHex) throw new KeyRefusal(`A component must have ${2 * lengthBytes} hexadecimal digits.`)
  const bytes = Buffer.from(component, 'hex')
  // Of zeros, it leaves the whole key to the others.
  if (bytes.every((byte) => byte === bytes[0])) throw new KeyRefusal('The component is weak.')
  refuseOtherCheckValue(algorithm, bytes, due)
  return { bytes, keyCheckValue: computeKeyCheckValue(algorithm, bytes) }
}

/**
 * The key that components make (PCI PIN Security 3.1, requirement 12). Those of odd parity make one
 * of even parity, which is then set (X9.24-1).
 * @throws KeyRefusal when two of them are the same: those cancel out, and one person knows what is
 *   left.
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
