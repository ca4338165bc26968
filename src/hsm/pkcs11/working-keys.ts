import { createHash } from 'node:crypto'
import { aesBlockLength } from '../../crypto/aes.ts'
import { desBlockLength } from '../../crypto/tdes.ts'
import { type KeyAction, parseCipher } from '../contract/catalogue.ts'
import { inMode, type RsaPublicJwk, type WorkingKeys } from '../keys/key-engine.ts'
import type { Token } from './client.ts'
import { parseLabel, parseReference } from './objects.ts'
import type { EcPublicJwk, PublicHalf } from './pairs.ts'

/** The implementation of each action for a key in a token. */
export const tokenKeys: {
  readonly [Action in KeyAction]: (
    token: Token,
    reference: string,
    publicHalf: PublicHalf | null,
  ) => WorkingKeys[Action]
} = {
  blocks(token, reference) {
    const { algorithm, modeOfUse } = parseLabel(parseReference(reference))
    const cipher = parseCipher(algorithm)
    return inMode(modeOfUse, {
      cipher,
      encipher: async (blocks) =>
        token.ask('encipher', reference, 'whole', wholeBlocks(cipher, blocks)),
      decipher: async (blocks) => token.ask('decipher', reference, wholeBlocks(cipher, blocks)),
    })
  },
  chain(token, reference) {
    const cipher = parseCipher(parseLabel(parseReference(reference)).algorithm)
    return {
      withA: async (blocks) => token.ask('chain', reference, 'keyA', wholeBlocks(cipher, blocks)),
      withWhole: async (blocks) =>
        token.ask('chain', reference, 'whole', wholeBlocks(cipher, blocks)),
    }
  },
  cvv: (token, reference) => ({
    encipherWithA: async (block) =>
      token.ask('encipher', reference, 'keyA', wholeBlocks('TDES', block)),
    encipherWithBoth: async (block) =>
      token.ask('encipher', reference, 'whole', wholeBlocks('TDES', block)),
  }),
  seal: (token, reference) => ({
    async seal(nonce, associated, clear) {
      const sealed = await token.ask('seal', reference, nonce, associated, clear)
      return { ciphertext: sealed.subarray(0, clear.length), tag: sealed.subarray(clear.length) }
    },
    open: (nonce, associated, { ciphertext, tag }) =>
      token.ask('open', reference, nonce, associated, Buffer.concat([ciphertext, tag])),
  }),
  mac: (token, reference) => ({ mac: (message) => token.ask('mac', reference, message) }),
  sign: (token, reference, publicHalf) => ({
    publicJwk: ecHalf(publicHalf),
    sign: async (message) => token.ask('signDigest', reference, hashMessage(message)),
  }),
  signPss: (token, reference, publicHalf) => ({
    publicJwk: rsaHalf(publicHalf),
    sign: async (message) => token.ask('signDigestPss', reference, hashMessage(message)),
  }),
  signEd25519(token, reference, publicHalf) {
    if (publicHalf?.kty !== 'OKP') throw new Error('The key has no Ed25519 public half.')
    const sign = (message: Uint8Array) => token.ask('signMessage', reference, message)
    return { publicKey: Buffer.from(publicHalf.x, 'base64url'), sign }
  },
  signMlDsa44() {
    throw new Error('The token does not support ML-DSA-44.')
  },
  unwrap: (token, reference, publicHalf) => ({
    publicJwk: rsaHalf(publicHalf),
    unwrap: (wrapped) => token.ask('unwrap', reference, wrapped),
  }),
  agree: (token, reference, publicHalf) => ({
    publicJwk: ecHalf(publicHalf),
    async agree(publicKey) {
      const { crv, x = '', y = '' } = publicKey.export({ format: 'jwk' })
      if (crv !== 'P-256') throw new Error('The key is not on P-256.')
      // Node has verified that the point is on its curve. Uncompressed (SEC 1, 2.3.3).
      const point = [Buffer.of(4), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]
      return token.ask('agree', reference, Buffer.concat(point))
    },
  }),
}

const hashMessage = (message: Uint8Array): Buffer => createHash('sha256').update(message).digest()

function ecHalf(publicHalf: PublicHalf | null): EcPublicJwk {
  if (publicHalf?.kty !== 'EC') throw new Error('The key has no P-256 public half.')
  return publicHalf
}

function rsaHalf(publicHalf: PublicHalf | null): RsaPublicJwk {
  if (publicHalf?.kty !== 'RSA') throw new Error('The key has no RSA public half.')
  return publicHalf
}

const blockLengths = { AES: aesBlockLength, TDES: desBlockLength }

/** Checks the length of blocks here, because the token's error for it is ambiguous. */
function wholeBlocks(cipher: keyof typeof blockLengths, blocks: Uint8Array): Uint8Array {
  if (blocks.length > 0 && blocks.length % blockLengths[cipher] === 0) return blocks
  throw new Error('Only whole blocks can be enciphered.')
}
