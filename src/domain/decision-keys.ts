import {
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto'
import { Secret } from './secret.ts'
import { encodeWebhookSecret, WebhookSecret } from './webhook-secret.ts'

const privatePrefix = 'whsk_'
const publicPrefix = 'whpk_'

/** The prefix of an Ed25519 private key in PKCS #8 (RFC 8410, section 7), before its 32 bytes. */
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex')

/**
 * The two keys that sign the requests for a client's decisions (Standard Webhooks 1.0.0): an HMAC
 * secret (`v1`), and an Ed25519 key (`v1a`) whose public half verifies only.
 */
export class DecisionKeys extends Secret<string> {
  readonly keyId: string
  /** The HMAC secret, which is shown to the client once. */
  readonly hmacSecret: WebhookSecret
  readonly #privateKey: KeyObject

  /** @param text both keys as {@link generateDecisionKeys} makes them: `whsec_… whsk_…`. */
  constructor(keyId: string, text: string) {
    super(text)
    const [hmacSecret = '', privateKey = ''] = text.split(' ')
    this.keyId = keyId
    this.hmacSecret = new WebhookSecret(hmacSecret)
    const seed = Buffer.from(privateKey.slice(privatePrefix.length), 'base64')
    this.#privateKey = createPrivateKey({
      key: Buffer.concat([pkcs8Prefix, seed]),
      format: 'der',
      type: 'pkcs8',
    })
  }

  /** Signs a message with each key: `v1,…` and `v1a,…`. */
  sign(id: string, timestamp: string, body: string): readonly [string, string] {
    const message = Buffer.from(`${id}.${timestamp}.${body}`)
    const signature = sign(null, message, this.#privateKey).toString('base64')
    return [this.hmacSecret.sign(id, timestamp, body), `v1a,${signature}`]
  }
}

/** New keys, and the public half of the second one in the form of Standard Webhooks. */
export interface GeneratedDecisionKeys {
  readonly keys: DecisionKeys
  readonly publicKey: string
}

/** Generates the keys of a client. */
export function generateDecisionKeys(): GeneratedDecisionKeys {
  const { privateKey } = generateKeyPairSync('ed25519')
  const { d = '', x = '' } = privateKey.export({ format: 'jwk' })
  const secret = encodeWebhookSecret(randomBytes(32)).reveal()
  const seed = Buffer.from(d, 'base64url').toString('base64')
  return {
    keys: new DecisionKeys(
      `dk_${randomBytes(9).toString('base64url')}`,
      `${secret} ${privatePrefix}${seed}`,
    ),
    publicKey: `${publicPrefix}${Buffer.from(x, 'base64url').toString('base64')}`,
  }
}

/** The subject that a client's keys are sealed for. */
export const decisionKeysSubject = (clientId: string, keyId: string): string =>
  `${clientId}\n${keyId}`
