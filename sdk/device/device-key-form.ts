import {
  type CryptoKey,
  calculateJwkThumbprint,
  compactDecrypt,
  compactVerify,
  decodeProtectedHeader,
} from 'jose'
import { type CardData, type CardDataForm, type Expectation, readCardData } from './card-data.ts'
import {
  isJsonObject,
  type JsonObject,
  orRefuse,
  parseJsonObject,
  refuse,
  toBase64Url,
} from './device-error.ts'
import { importKey, keysOf } from './service-keys.ts'

/** What is asked for with a device key. */
export interface DeviceKeyBody {
  readonly deviceKey: {
    readonly kty: 'EC'
    readonly crv: 'P-256'
    readonly x: string
    readonly y: string
  }
  readonly nonce: string
}

/**
 * The forward secret form: a fresh key on P-256, whose private half cannot be read out and is gone with
 * the request. The answer is a JWS of the service inside a JWE to that key.
 */
export async function deviceKeyForm(expected: Expectation): Promise<CardDataForm<DeviceKeyBody>> {
  const algorithm = { name: 'ECDH', namedCurve: 'P-256' }
  const { privateKey, publicKey } = await crypto.subtle.generateKey(algorithm, false, [
    'deriveBits',
  ])
  const { x = '', y = '' } = await crypto.subtle.exportKey('jwk', publicKey)
  const deviceKey = { kty: 'EC', crv: 'P-256', x, y } as const
  const nonce = toBase64Url(crypto.getRandomValues(new Uint8Array(24)))
  const thumbprint = await calculateJwkThumbprint(deviceKey)
  return {
    body: { deviceKey, nonce },
    async open(answer) {
      const jws = await openJwe(answer.jwe, privateKey)
      const claims = await verifyJws(jws, expected)
      return readClaims(claims, expected, nonce, thumbprint)
    },
  }
}

/** The algorithms are those of the form; the header can only agree. */
async function openJwe(jwe: unknown, privateKey: CryptoKey): Promise<Uint8Array> {
  if (typeof jwe !== 'string') return refuse('malformed_answer')
  const header = await orRefuse('malformed_answer', () => decodeProtectedHeader(jwe))
  if (Object.keys(header).sort().join() !== 'alg,cty,enc,epk') refuse('malformed_answer')
  const { plaintext } = await orRefuse('not_sealed_to_device', () =>
    compactDecrypt(jwe, privateKey, {
      keyManagementAlgorithms: ['ECDH-ES'],
      contentEncryptionAlgorithms: ['A256GCM'],
    }),
  )
  return plaintext
}

async function verifyJws(jws: Uint8Array, { service }: Expectation): Promise<JsonObject> {
  const header = await orRefuse('malformed_answer', () =>
    decodeProtectedHeader(new TextDecoder().decode(jws)),
  )
  if (header.typ !== 'card-data+jwt') refuse('malformed_answer')
  const key = keysOf(service, 'ES256').find(({ kid }) => kid === header.kid)
  if (!key) return refuse('unknown_key')
  const publicKey = await importKey(key)
  const { payload } = await orRefuse('invalid_signature', () =>
    compactVerify(jws, publicKey, { algorithms: ['ES256'] }),
  )
  return parseJsonObject(payload) ?? refuse('malformed_answer')
}

function readClaims(
  { card, cnf, exp, iat, iss, nonce: answered, sub }: JsonObject,
  { clock, includePin, publicToken, service }: Expectation,
  nonce: string,
  thumbprint: string,
): CardData {
  if (iss !== service.issuer) refuse('wrong_issuer')
  if (sub !== publicToken) refuse('wrong_card')
  if (answered !== nonce) refuse('wrong_nonce')
  // Without this a relay could put in a key of its own, read the card, and seal the answer again.
  if (!isJsonObject(cnf) || cnf.jkt !== thumbprint) refuse('wrong_recipient')
  clock.check(iat, exp)
  return readCardData(isJsonObject(card) ? card : {}, includePin)
}
