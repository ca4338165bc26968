import { mechanism, parametersType } from './constants.ts'
import type { Handle, Mechanism } from './cryptoki.ts'
import type { TokenSession } from './token-session.ts'

const tagLength = 16
/** Room that an answer may take beyond what went in: a block, or a tag. */
const room = 16

/** Enciphers or deciphers whole blocks (ECB, SP 800-38A 6.1). */
export function encipherBlocks(
  { cryptoki, handle }: TokenSession,
  key: Handle,
  cipher: number,
  blocks: Uint8Array,
): Buffer {
  cryptoki.C_EncryptInit(handle, { mechanism: cipher }, key)
  return cryptoki.C_Encrypt(handle, Buffer.from(blocks), Buffer.alloc(blocks.length + room))
}

export function decipherBlocks(
  { cryptoki, handle }: TokenSession,
  key: Handle,
  cipher: number,
  blocks: Uint8Array,
): Buffer {
  cryptoki.C_DecryptInit(handle, { mechanism: cipher }, key)
  return cryptoki.C_Decrypt(handle, Buffer.from(blocks), Buffer.alloc(blocks.length + room))
}

const gcm = (iv: Uint8Array, associated: Uint8Array): Mechanism => ({
  mechanism: mechanism.aesGcm,
  parameter: {
    type: parametersType.gcm,
    iv: Buffer.from(iv),
    ivBits: iv.length * 8,
    aad: Buffer.from(associated),
    tagBits: tagLength * 8,
  },
})

/** @returns the ciphertext, then the tag. */
export function sealBytes(
  { cryptoki, handle }: TokenSession,
  key: Handle,
  iv: Uint8Array,
  associated: Uint8Array,
  clear: Uint8Array,
): Buffer {
  cryptoki.C_EncryptInit(handle, gcm(iv, associated), key)
  const space = Buffer.alloc(clear.length + tagLength + room)
  // Modules refuse an input of no bytes, of which there still is a tag.
  return clear.length === 0
    ? cryptoki.C_EncryptFinal(handle, space)
    : cryptoki.C_Encrypt(handle, Buffer.from(clear), space)
}

/** @param sealed the ciphertext, then the tag. */
export function openBytes(
  { cryptoki, handle }: TokenSession,
  key: Handle,
  iv: Uint8Array,
  associated: Uint8Array,
  sealed: Uint8Array,
): Buffer {
  cryptoki.C_DecryptInit(handle, gcm(iv, associated), key)
  return cryptoki.C_Decrypt(handle, Buffer.from(sealed), Buffer.alloc(sealed.length + room))
}

/** HMAC-SHA-256 (FIPS 198-1). */
export function macOf(
  { cryptoki, handle }: TokenSession,
  key: Handle,
  message: Uint8Array,
): Buffer {
  cryptoki.C_SignInit(handle, { mechanism: mechanism.sha256Hmac }, key)
  const space = Buffer.alloc(32)
  return message.length === 0
    ? cryptoki.C_SignFinal(handle, space)
    : cryptoki.C_Sign(handle, Buffer.from(message), space)
}

export const drawBytes = ({ cryptoki, handle }: TokenSession, lengthBytes: number): Buffer =>
  cryptoki.C_GenerateRandom(handle, Buffer.alloc(lengthBytes))
