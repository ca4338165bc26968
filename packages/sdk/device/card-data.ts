import {
  type CryptoKey,
  calculateJwkThumbprint,
  compactDecrypt,
  compactVerify,
  decodeProtectedHeader,
} from 'jose'
import {
  fromBase64,
  isJsonObject,
  type JsonObject,
  orRefuse,
  parseJsonObject,
  refuse,
  requireWebCrypto,
  toBase64,
  toBase64Url,
} from './device-error.ts'
import {
  currentKey,
  type DeviceClock,
  filterKeys,
  importKey,
  type ServiceKeys,
} from './service-keys.ts'

/** The data of a card, for display only: do not store or log it. */
export interface CardData {
  readonly pan: string
  /** The CVV2: three digits. */
  readonly cvv: string
  /** `YYYY-MM`. */
  readonly expiryDate: string
  /** Present exactly when it was requested. */
  readonly pin?: string
}

/**
 * Returns the card in an answer. @throws DeviceError `wrong_content` unless it matches the request.
 */
function readCardData(
  { CVV: cvv, expiryDate, PAN: pan, PIN: pin }: JsonObject,
  includePin: boolean,
): CardData {
  const isCard = isText(pan, /^[0-9]{12,19}$/) && isText(cvv, /^[0-9]{3}$/)
  if (!isCard || !isText(expiryDate, /^[0-9]{4}-(0[1-9]|1[0-2])$/)) return refuse('wrong_content')
  const card = { pan, cvv, expiryDate }
  if (!includePin) return pin === undefined ? card : refuse('wrong_content')
  return isText(pin, /^[0-9]{4,12}$/) ? { ...card, pin } : refuse('wrong_content')
}

const isText = (value: unknown, form: RegExp): value is string =>
  typeof value === 'string' && form.test(value)

/** The values that an answer must match. */
export interface Expectation {
  readonly service: ServiceKeys
  readonly publicToken: string
  readonly includePin: boolean
  readonly clock: DeviceClock
}

/** One form of request and decryption. */
export interface CardDataForm<Body> {
  readonly body: Body
  open(answer: JsonObject): Promise<CardData>
}

/** The request with a device key. */
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
 * The form with forward secrecy: a new P-256 key whose private half cannot be exported and is
 * discarded with the request. The answer is a JWS of the service inside a JWE to that key.
 */
export async function deviceKeyForm(expected: Expectation): Promise<CardDataForm<DeviceKeyBody>> {
  requireWebCrypto()
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

/** The form sets the algorithms; the header must match. */
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
  const key = filterKeys(service, 'ES256').find(({ kid }) => kid === header.kid)
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
  // Without this check, a relay could replace the key with its own, read the card, and encrypt the
  // answer again.
  if (!isJsonObject(cnf) || cnf.jkt !== thumbprint) refuse('wrong_recipient')
  clock.check(iat, exp)
  return readCardData(isJsonObject(card) ? card : {}, includePin)
}

/** The request with a session key: 32 bytes under the service's wrap key, in base64. */
export interface SessionKeyBody {
  readonly key: string
}

/**
 * The form for existing clients: AES-256-CBC under a session key, signed with RSA-PSS. It has no
 * forward secrecy: an attacker who obtains the service's wrap key later can open recorded answers.
 */
export async function sessionKeyForm(expected: Expectation): Promise<CardDataForm<SessionKeyBody>> {
  const wrapKey = await importKey(currentKey(expected.service, 'RSA-OAEP-256'))
  const bytes = crypto.getRandomValues(new Uint8Array(32))
  const wrapped = await crypto.subtle.encrypt('RSA-OAEP', wrapKey, bytes)
  const sessionKey = await crypto.subtle.importKey('raw', bytes, 'AES-CBC', false, ['decrypt'])
  bytes.fill(0)
  return {
    body: { key: toBase64(new Uint8Array(wrapped)) },
    async open(answer) {
      const { iv, payload, signature } = readAnswer(answer)
      // Before decryption, since CBC alone does not detect changes.
      await verify(expected.service, signature, concat(payload, iv))
      const clear = await orRefuse('not_sealed_to_device', () =>
        crypto.subtle.decrypt({ name: 'AES-CBC', iv }, sessionKey, payload),
      )
      const card = parseJsonObject(new Uint8Array(clear)) ?? refuse('not_sealed_to_device')
      return readCard(card, expected)
    },
  }
}

function readAnswer(answer: JsonObject) {
  const iv = decodeBytes(answer.iv)
  const payload = decodeBytes(answer.encryptedPayload)
  const signature = decodeBytes(answer.signatureOfPayloadAndIv)
  return iv.length === 16 ? { iv, payload, signature } : refuse('malformed_answer')
}

const decodeBytes = (text: unknown): Uint8Array<ArrayBuffer> =>
  (typeof text === 'string' ? fromBase64(text) : null) ?? refuse('malformed_answer')

/** The answer names no key, so each published key of the service is tried. */
async function verify(
  service: ServiceKeys,
  signature: Uint8Array<ArrayBuffer>,
  signed: Uint8Array<ArrayBuffer>,
): Promise<void> {
  for (const key of filterKeys(service, 'PS256')) {
    const publicKey = await importKey(key)
    const algorithm = { name: 'RSA-PSS', saltLength: 32 }
    if (await crypto.subtle.verify(algorithm, publicKey, signature, signed)) return
  }
  refuse('invalid_signature')
}

function concat(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(first.length + second.length)
  all.set(first)
  all.set(second, first.length)
  return all
}

function readCard(card: JsonObject, { clock, includePin, publicToken }: Expectation): CardData {
  if (card.publicToken !== publicToken) refuse('wrong_card')
  clock.checkIssued(card.iat)
  return readCardData(card, includePin)
}
