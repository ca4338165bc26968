import { areEqualBytes, CryptoRefusal } from '../../crypto/refusal.ts'
import { hasOddParity, isWeakTdesKey, setOddParity } from '../../crypto/tdes-keys.ts'
import { Problem } from '../../domain/problem.ts'
import { codesByCipher, type KeyKind } from '../contract/catalogue.ts'
import { KeyRefusal } from '../contract/stored-keys.ts'

/**
 * The key pairs of this service: P-256 and Ed25519, RSA of 4096 bits, and ML-DSA-44 (FIPS 204,
 * category 2).
 */
const pairStrengths: Readonly<Record<string, number>> = { E: 128, R: 152, 1: 128 }

/**
 * Returns the bits of security of a key (NIST SP 800-57 part 1, table 2; PCI PIN Security 3.1,
 * annex C).
 * @throws KeyRefusal if the algorithm has no keys of this length.
 */
function strengthBits(algorithm: string, lengthBytes: number): number {
  if (algorithm === 'H' && lengthBytes >= 32) return 256
  const bits = pairStrengths[algorithm] ?? strengths[algorithm]?.[lengthBytes]
  if (bits === undefined) throw new KeyRefusal('The key length is not supported.')
  return bits
}

const strengths: Readonly<Record<string, Readonly<Record<number, number>>>> = {
  T: { 16: 80, 24: 112 },
  A: { 16: 128, 24: 192, 32: 256 },
}

/**
 * Rejects a key that is weaker than its algorithm: short, of wrong parity, weak or semi-weak, or
 * with equal parts (SP 800-67 section 3; PCI PIN Security 3.1, annex C).
 * @throws KeyRefusal
 */
export function refuseWeakKey(algorithm: string, key: Uint8Array): void {
  strengthBits(algorithm, key.length)
  if (algorithm in pairStrengths) return
  if (algorithm !== codesByCipher.TDES) {
    // A key of one repeated byte or two equal halves is not random.
    const half = key.length / 2
    if (areEqualBytes(key.subarray(0, half), key.subarray(half))) {
      throw new KeyRefusal('The key has equal parts.')
    }
    return
  }
  if (!hasOddParity(key)) throw new KeyRefusal('The key has wrong parity.')
  // If the third part equals the first, the key has double length, not triple.
  const isDoubleLength = key.length === 24 && areEqualBytes(key.subarray(0, 8), key.subarray(16))
  if (isDoubleLength || isWeakTdesKey(key)) {
    throw new KeyRefusal('The key is weak, semi-weak, or has equal parts.')
  }
}

/**
 * Rejects the protection of a key by a weaker one (PCI PIN Security 3.1, requirement 10).
 * @throws KeyRefusal
 */
export function refuseWeakerProtection(
  protecting: { readonly algorithm: string; readonly lengthBytes: number },
  protectedKey: { readonly algorithm: string; readonly lengthBytes: number },
): void {
  const strength = strengthBits(protecting.algorithm, protecting.lengthBytes)
  if (strength < strengthBits(protectedKey.algorithm, protectedKey.lengthBytes)) {
    throw new KeyRefusal('A weaker key must not protect this key.')
  }
}

/**
 * Rejects the bytes of a symmetric key that is weak or does not match its kind.
 * @throws KeyRefusal
 */
export function refuseUnfitKey({ algorithm, lengthBytes }: KeyKind, key: Uint8Array): void {
  if (lengthBytes === null) throw new KeyRefusal('A key pair cannot be imported.')
  if (key.length !== lengthBytes) throw new KeyRefusal('The key has the wrong length.')
  refuseWeakKey(algorithm, key)
}

/** Generates the bytes of a symmetric key, and again while they are unsuitable. */
export async function drawFitKey(
  kind: KeyKind,
  draw: (lengthBytes: number) => Uint8Array | Promise<Uint8Array>,
): Promise<Uint8Array> {
  if (kind.lengthBytes === null) throw new Error('A key pair is generated, not drawn.')
  const drawn = await draw(kind.lengthBytes)
  const key = kind.algorithm === codesByCipher.TDES ? setOddParity(drawn) : drawn
  try {
    refuseUnfitKey(kind, key)
    return key
  } catch (error) {
    if (error instanceof KeyRefusal) return drawFitKey(kind, draw)
    throw error
  }
}

/** Reports why a key or block is rejected, but never what failed inside a block. */
export async function orProblem<Result>(work: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof KeyRefusal) throw new Problem('key_refused', { detail: error.message })
    if (error instanceof CryptoRefusal) throw new Problem('key_refused', { detail: unusable })
    throw error
  }
}

/** The message for a key block that did not unwrap. It never states which part was wrong. */
export const unusable = 'The key block is damaged, or wrapped under another key.'
