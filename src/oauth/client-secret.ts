import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

const secretLengthBytes = 32

/** A new client secret: 256 random bits, 43 base64url characters. Shown once, stored as a hash. */
export const generateClientSecret = (): string =>
  randomBytes(secretLengthBytes).toString('base64url')

/**
 * What is stored of a client secret: its SHA-256, 32 bytes.
 *
 * A slow hash (scrypt, Argon2) buys time where secrets are guessable. Ours have 256 random bits:
 * no number of guesses finds one, and a slow hash would only let a stranger burn our processors.
 */
export const hashClientSecret = (secret: string): Uint8Array =>
  createHash('sha256').update(secret, 'utf8').digest()

/** Whether a secret is the one hashed; takes the same time wherever they differ. */
export const matchesClientSecret = (secret: string, secretHash: Uint8Array): boolean => {
  const actual = hashClientSecret(secret)
  return actual.length === secretHash.length && timingSafeEqual(actual, secretHash)
}
