import { xaesNonceLength } from '../../crypto/xaes-256-gcm.ts'
import type { KeyKind } from '../contract/catalogue.ts'
import type { KeyForm, KeyPurpose } from '../contract/key-administration.ts'
import type { WrappedKey } from '../contract/stored-keys.ts'
import * as tokenCiphers from './ciphers.ts'
import { type Handle, mechanism } from './cryptoki.ts'
import { importKeyBlock } from './import-key-block.ts'
import * as makeKeys from './make-keys.ts'
import * as tokenObjects from './objects.ts'
import * as tokenPairs from './pairs.ts'
import type { TokenSession } from './session.ts'

/** The verbs of a token. Keys are named by their references. */
export interface TokenVerbs {
  random(lengthBytes: number): Buffer
  generate(kind: KeyKind): WrappedKey
  import(kind: KeyKind, bytes: Uint8Array): WrappedKey
  /** Imports a key block under a zone master key of the token. */
  importKeyBlock(
    purpose: KeyPurpose,
    zoneMasterKey: string,
    keyBlock: string,
    keyCheckValue: string | null,
  ): WrappedKey
  /** Seals a component, in hexadecimal, until the other components arrive. */
  importComponent(form: KeyForm, component: string, keyCheckValue: string): WrappedKey
  combineComponents(
    purpose: KeyPurpose,
    form: KeyForm,
    components: readonly string[],
    keyCheckValue: string,
  ): WrappedKey
  /**
   * Checks that the key exists and is not extractable.
   * @returns the public half of a pair.
   * @throws Error otherwise.
   */
  inspect(reference: string): tokenPairs.PublicHalf | null
  /** Destroys every part of a key. */
  destroy(reference: string): void
  encipher(reference: string, part: tokenObjects.Part, blocks: Uint8Array): Buffer
  decipher(reference: string, blocks: Uint8Array): Buffer
  /** @returns the last block of CBC from an IV of zeros. */
  chain(reference: string, part: tokenObjects.Part, blocks: Uint8Array): Buffer
  /** @returns the ciphertext, then the tag. */
  seal(reference: string, nonce: Uint8Array, associated: Uint8Array, clear: Uint8Array): Buffer
  /** @param nonce 12 bytes for records from before every record had its own key. */
  open(reference: string, nonce: Uint8Array, associated: Uint8Array, sealed: Uint8Array): Buffer
  mac(reference: string, message: Uint8Array): Buffer
  signDigest(reference: string, digest: Uint8Array): Buffer
  signDigestPss(reference: string, digest: Uint8Array): Buffer
  /** Ed25519. */
  signMessage(reference: string, message: Uint8Array): Buffer
  /** @returns null if the padding is wrong. */
  unwrap(reference: string, wrapped: Uint8Array): Buffer | null
  /** @param point the other party's point on P-256, uncompressed. */
  agree(reference: string, point: Uint8Array): Buffer
}

/** The verbs inside the process of the token. */
export type SessionVerbs = {
  readonly [Verb in keyof TokenVerbs]: (
    ...given: Parameters<TokenVerbs[Verb]>
  ) => ReturnType<TokenVerbs[Verb]> | Promise<ReturnType<TokenVerbs[Verb]>>
}

/** Creates the verbs of a token for one session. */
export function tokenVerbs(session: TokenSession): SessionVerbs {
  const objects = new Map<string, Handle>()
  const object = (reference: string, part: tokenObjects.Part = 'whole'): Handle => {
    const known = objects.get(`${part} ${reference}`)
    const found =
      known ?? tokenObjects.findObject(session, tokenObjects.parseReference(reference), part)
    objects.set(`${part} ${reference}`, found)
    return found
  }
  return {
    random: (lengthBytes) => tokenCiphers.drawBytes(session, lengthBytes),
    generate: (kind) => makeKeys.generateTokenKey(session, kind),
    import: (kind, bytes) => makeKeys.importTokenKey(session, kind, bytes),
    importKeyBlock: (purpose, zoneMasterKey, keyBlock, keyCheckValue) =>
      importKeyBlock(session, purpose, zoneMasterKey, { keyBlock, keyCheckValue }),
    importComponent: (...given) => makeKeys.importComponent(session, ...given),
    combineComponents: (purpose, form, components, keyCheckValue) =>
      makeKeys.combineTokenComponents(session, purpose, form, { components, keyCheckValue }),
    inspect(reference) {
      const key = tokenObjects.parseReference(reference)
      const { algorithm, keyUsage } = tokenObjects.parseLabel(key)
      tokenObjects.refuseExtractable(session, object(reference))
      if (tokenObjects.hasKeyA({ keyUsage }))
        tokenObjects.refuseExtractable(session, object(reference, 'keyA'))
      return algorithm === 'E' || algorithm === 'R' ? tokenPairs.readPublicHalf(session, key) : null
    },
    destroy(reference) {
      for (const part of tokenObjects.parts) objects.delete(`${part} ${reference}`)
      tokenObjects.destroyKey(session, tokenObjects.parseReference(reference))
    },
    encipher: (reference, part, blocks) =>
      tokenCiphers.encipherBlocks(
        session,
        object(reference, part),
        selectCipher(reference),
        blocks,
      ),
    decipher: (reference, blocks) =>
      tokenCiphers.decipherBlocks(session, object(reference), selectCipher(reference), blocks),
    chain: (reference, part, blocks) =>
      tokenCiphers.chainBlocks(session, object(reference, part), selectCipher(reference), blocks),
    seal: (reference, nonce, associated, clear) =>
      tokenCiphers.sealRecord(session, object(reference), clear, { nonce, associated }),
    open: (reference, nonce, associated, sealed) =>
      nonce.length === xaesNonceLength
        ? tokenCiphers.openRecord(session, object(reference), sealed, { nonce, associated })
        : tokenCiphers.openBytes(session, object(reference), sealed, { iv: nonce, associated }),
    mac: (reference, message) => tokenCiphers.computeMac(session, object(reference), message),
    signDigest: (reference, digest) => tokenPairs.signDigest(session, object(reference), digest),
    signDigestPss: (reference, digest) =>
      tokenPairs.signDigestPss(session, object(reference), digest),
    signMessage: (reference, message) =>
      tokenPairs.signMessage(session, object(reference), message),
    unwrap: (reference, wrapped) => tokenPairs.unwrapOaep(session, object(reference), wrapped),
    agree: (reference, point) => tokenPairs.agreeWith(session, object(reference), point),
  }
}

const selectCipher = (reference: string): number =>
  tokenObjects.parseLabel(tokenObjects.parseReference(reference)).algorithm === 'A'
    ? mechanism.aesEcb
    : mechanism.des3Ecb
