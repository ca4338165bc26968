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

/** The hashes of a client's secret and of the one before it, as one text that the token endpoint keeps. */
export const writeSecretHashes = (current: Uint8Array, previous: Uint8Array | null): string =>
  [current, ...(previous ? [previous] : [])]
    .map((hash) => Buffer.from(hash).toString('base64url'))
    .join('.')

/** Whether a secret is one of those whose hashes {@link writeSecretHashes} wrote. */
export const matchesWrittenHashes = (secret: string, written: string): boolean =>
  written
    .split('.')
    // Each is compared, whichever matches: the time tells nothing of which one it was.
    .map((hash) => matchesClientSecret(secret, Buffer.from(hash, 'base64url')))
    .includes(true)
