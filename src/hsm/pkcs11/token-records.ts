import { openAesGcm, sealAesGcm } from '../../crypto/aes-gcm.ts'
import { withSubkey, type XaesSubkey, xaesSubkeys } from '../../crypto/xaes-256-gcm.ts'
import { mechanism } from './constants.ts'
import type { Handle } from './cryptoki.ts'
import { encipherBlocks } from './token-ciphers.ts'
import type { TokenSession } from './token-session.ts'

const tagLength = 16

/**
 * Seals a record under a key of its own, which the token derives from one that never leaves it
 * (XAES-256-GCM). The record's key works here, beside the token's module, where its clear text is anyway,
 * and is wiped: modules that derive keys inside the token for this are few.
 * @returns the ciphertext, then the tag.
 */
export const sealRecord = (
  session: TokenSession,
  key: Handle,
  nonce: Uint8Array,
  associated: Uint8Array,
  clear: Uint8Array,
): Buffer =>
  withSubkey(derive(session, key, nonce), (subkey, iv) => {
    const { ciphertext, tag } = sealAesGcm(subkey, iv, associated, clear)
    return Buffer.concat([ciphertext, tag])
  })

/** @param sealed the ciphertext, then the tag. */
export const openRecord = (
  session: TokenSession,
  key: Handle,
  nonce: Uint8Array,
  associated: Uint8Array,
  sealed: Uint8Array,
): Buffer =>
  withSubkey(derive(session, key, nonce), (subkey, iv) =>
    openAesGcm(subkey, iv, associated, {
      ciphertext: sealed.subarray(0, -tagLength),
      tag: sealed.subarray(-tagLength),
    }),
  )

const derive = (session: TokenSession, key: Handle, nonce: Uint8Array): XaesSubkey =>
  xaesSubkeys((blocks) => encipherBlocks(session, key, mechanism.aesEcb, blocks))(nonce)
