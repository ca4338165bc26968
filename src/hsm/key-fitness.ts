import { setOddParity } from '../crypto/des-parity.ts'
import { KeyRefusal, refuseWeakKey } from './key-strength.ts'
import type { KeyKind } from './key-table.ts'

/**
 * Refuses the bytes of a symmetric key that is not what its kind asks for, or is weak.
 * @throws KeyRefusal
 */
export function refuseUnfitKey({ algorithm, lengthBytes }: KeyKind, key: Uint8Array): void {
  if (lengthBytes === null) throw new KeyRefusal('A key pair is not taken in.')
  if (key.length !== lengthBytes) throw new KeyRefusal('The key has another length.')
  refuseWeakKey(algorithm, key)
}

/** Draws the bytes of a symmetric key, again while they are unfit. */
export async function drawFitKey(
  kind: KeyKind,
  draw: (lengthBytes: number) => Uint8Array | Promise<Uint8Array>,
): Promise<Uint8Array> {
  if (kind.lengthBytes === null) throw new Error('A key pair is not drawn but generated.')
  const drawn = await draw(kind.lengthBytes)
  const key = kind.algorithm === 'T' ? setOddParity(drawn) : drawn
  return isFit(kind, key) ? key : drawFitKey(kind, draw)
}

function isFit(kind: KeyKind, key: Uint8Array): boolean {
  try {
    refuseUnfitKey(kind, key)
    return true
  } catch (error) {
    if (error instanceof KeyRefusal) return false
    throw error
  }
}
