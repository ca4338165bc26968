import { type CardData, type CardDataForm, type Expectation, readCardData } from './card-data.ts'
import {
  fromBase64,
  type JsonObject,
  orRefuse,
  parseJsonObject,
  refuse,
  toBase64,
} from './device-error.ts'
import { currentKey, importKey, keysOf, type ServiceKeys } from './service-keys.ts'

/** What is asked for with a session key: 32 bytes under the service's wrap key, in base64. */
export interface SessionKeyBody {
  readonly key: string
}

/**
 * The form of existing clients: AES-256-CBC under a session key, signed with RSA-PSS. Not forward
 * secret: whoever gets the service's wrap key later opens what was recorded.
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
      // Before anything is deciphered: CBC by itself notices no change.
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
  const iv = bytesOf(answer.iv)
  const payload = bytesOf(answer.encryptedPayload)
  const signature = bytesOf(answer.signatureOfPayloadAndIv)
  return iv.length === 16 ? { iv, payload, signature } : refuse('malformed_answer')
}

const bytesOf = (text: unknown): Uint8Array<ArrayBuffer> =>
  (typeof text === 'string' ? fromBase64(text) : null) ?? refuse('malformed_answer')

/** The answer names no key: each that the service publishes may have signed it. */
async function verify(
  service: ServiceKeys,
  signature: Uint8Array<ArrayBuffer>,
  signed: Uint8Array<ArrayBuffer>,
): Promise<void> {
  for (const key of keysOf(service, 'PS256')) {
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
