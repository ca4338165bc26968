import { createHash } from 'node:crypto'
import { aesBlockLength } from '../../crypto/aes.ts'
import { desBlockLength } from '../../crypto/tdes.ts'
import { Problem } from '../../errors.ts'
import { inMode } from '../mode-of-use.ts'
import type { KeyAction, SigningKey, WorkingKeys } from '../working-key.ts'
import type { Token } from './token.ts'
import { readReference, useOf } from './token-key.ts'

/** What each action is when the key lies in a token. */
export const tokenKeys: {
  readonly [Action in KeyAction]: (
    token: Token,
    reference: string,
    publicJwk: SigningKey['publicJwk'] | null,
  ) => WorkingKeys[Action]
} = {
  blocks(token, reference) {
    const { algorithm, modeOfUse } = useOf(readReference(reference))
    const cipher = algorithm === 'A' ? 'AES' : 'TDES'
    return inMode(modeOfUse, {
      cipher,
      encipher: async (blocks) =>
        token.ask('encipher', reference, 'whole', wholeBlocks(cipher, blocks)),
      decipher: async (blocks) => token.ask('decipher', reference, wholeBlocks(cipher, blocks)),
    })
  },
  cvv: (token, reference) => ({
    encipherWithA: async (block) =>
      token.ask('encipher', reference, 'keyA', wholeBlocks('TDES', block)),
    encipherWithBoth: async (block) =>
      token.ask('encipher', reference, 'whole', wholeBlocks('TDES', block)),
  }),
  seal: (token, reference) => ({
    async seal(iv, associated, clear) {
      const sealed = await token.ask('seal', reference, iv, associated, clear)
      return { ciphertext: sealed.subarray(0, clear.length), tag: sealed.subarray(clear.length) }
    },
    open: (iv, associated, { ciphertext, tag }) =>
      token.ask('open', reference, iv, associated, Buffer.concat([ciphertext, tag])),
  }),
  mac: (token, reference) => ({ mac: (message) => token.ask('mac', reference, message) }),
  sign(token, reference, publicJwk) {
    if (!publicJwk) throw new Error('This key has no public half.')
    const digestOf = (message: Uint8Array) => createHash('sha256').update(message).digest()
    return {
      publicJwk,
      sign: async (message) => token.ask('signDigest', reference, digestOf(message)),
    }
  },
  agree(_, __, publicJwk) {
    if (!publicJwk) throw new Error('This key has no public half.')
    return { publicJwk, agree: refuseAgreement }
  },
  signPss: refuseRsa,
  unwrap: refuseRsa,
}

async function refuseAgreement(): Promise<never> {
  throw new Problem('unavailable', { detail: 'Keys in a token do not agree on secrets yet.' })
}

function refuseRsa(): never {
  throw new Error('A token has no RSA keys here.')
}

const blockLengths = { AES: aesBlockLength, TDES: desBlockLength }

/** What the token would object to by an error that could as well be its own. */
function wholeBlocks(cipher: keyof typeof blockLengths, blocks: Uint8Array): Uint8Array {
  if (blocks.length > 0 && blocks.length % blockLengths[cipher] === 0) return blocks
  throw new Error('Only whole blocks can be enciphered.')
}
