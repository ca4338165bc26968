import { refuse } from './refusal.ts'
import { xor } from './xor.ts'

/**
 * Combines key components that several people hold: exclusive or of all of them (PCI PIN Security
 * 3.1, requirement 12). Parity is left as it comes out.
 *
 * @param components two or more, of one length, not empty.
 * @throws CryptoRefusal `key_components_refused` when they are anything else.
 */
export function combineComponents(components: readonly Uint8Array[]): Buffer {
  const [first, ...others] = components
  if (first === undefined || first.length === 0 || others.length === 0) {
    return refuse('key_components_refused')
  }
  if (others.some(({ length }) => length !== first.length)) refuse('key_components_refused')
  return others.reduce<Buffer>((key, component) => xor(key, component), Buffer.from(first))
}
