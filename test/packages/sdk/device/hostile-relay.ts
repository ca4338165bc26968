import { constants, createCipheriv, generateKeyPairSync, privateDecrypt, sign } from 'node:crypto'
import {
  CompactEncrypt,
  type CompactJWEHeaderParameters,
  type CompactJWSHeaderParameters,
  CompactSign,
  calculateJwkThumbprint,
  importJWK,
  type JWK,
} from 'jose'
import { pinKeys } from '../../../../packages/sdk/device/device.ts'
import { rsaTestKey } from '../../../operations/card-data/service.ts'

/** A service that a test can make say anything, with keys that the device trusts, and without. */

export const issuer = 'https://cards.example'
export const publicToken = '4820117360'
export const card = { PAN: '4000001234567899', CVV: '123', expiryDate: '2030-11' }

const makePair = () => generateKeyPairSync('ec', { namedCurve: 'P-256' })

const signPair = makePair()
export const pinPair = makePair()
export const strangerPair = makePair()
const wrapKey = rsaTestKey('card-data-wrap')
const signKey = rsaTestKey('card-data-sign')

const published = (key: { export(options: { format: 'jwk' }): object }, more: object): JWK => {
  const { d, dp, dq, p, q, qi, ...publicHalf } = key.export({ format: 'jwk' }) as JWK
  return { ...publicHalf, ...more }
}

export const jwks = {
  keys: [
    published(wrapKey, { kid: 'wrap-1', use: 'enc', alg: 'RSA-OAEP-256' }),
    published(signKey, { kid: 'sign-1', use: 'sig', alg: 'PS256' }),
    published(signPair.publicKey, { kid: 'sign-ec-1', use: 'sig', alg: 'ES256' }),
    published(pinPair.publicKey, { kid: 'pin-1', use: 'enc', alg: 'ECDH-ES' }),
  ],
}

export const service = pinKeys(issuer, jwks)

/** A request as the relay sees it. */
export interface SeenRequest {
  readonly body: object
}

const bodyOf = ({ body }: SeenRequest) => body as { deviceKey: JWK; nonce: string; key: string }

const nowSeconds = () => Math.floor(Date.now() / 1000)

/** The JWS that the service would sign for a request, but for what a test wants otherwise. */
export const signCard = async (
  request: SeenRequest,
  { claims = {}, header = {}, key = signPair.privateKey } = {},
): Promise<string> => {
  const { deviceKey, nonce } = bodyOf(request)
  const iat = nowSeconds()
  const payload = {
    iss: issuer,
    sub: publicToken,
    nonce,
    iat,
    exp: iat + 60,
    cnf: { jkt: await calculateJwkThumbprint(deviceKey) },
    card,
    ...claims,
  }
  const protectedHeader = { alg: 'ES256', typ: 'card-data+jwt', kid: 'sign-ec-1', ...header }
  return new CompactSign(Buffer.from(JSON.stringify(payload)))
    .setProtectedHeader(protectedHeader as CompactJWSHeaderParameters)
    .sign(key)
}

/** Seals anything to a device, as whoever knows its public key can. */
export const sealTo = async (
  deviceKey: JWK,
  content: string,
  { header = {}, parties = {} }: { header?: object; parties?: { apu?: Uint8Array } } = {},
): Promise<{ jwe: string }> => {
  const protectedHeader = { alg: 'ECDH-ES', enc: 'A256GCM', cty: 'JWT', ...header }
  const jwe = await new CompactEncrypt(Buffer.from(content))
    .setProtectedHeader(protectedHeader as CompactJWEHeaderParameters)
    .setKeyManagementParameters(parties)
    .encrypt(await importJWK(deviceKey, 'ECDH-ES'))
  return { jwe }
}

/** The answer to a request in the device-key form. */
export const answerDevice = async (
  request: SeenRequest,
  jws: Parameters<typeof signCard>[1] = {},
  jwe: Parameters<typeof sealTo>[2] = {},
): Promise<{ jwe: string }> => sealTo(bodyOf(request).deviceKey, await signCard(request, jws), jwe)

export interface SessionAnswer {
  iv: string
  encryptedPayload: string
  signatureOfPayloadAndIv: string
}

/** The answer to a request in the session-key form. */
export const answerSession = (
  request: SeenRequest,
  {
    members = {},
    session = unwrap(request),
    signer = signKey,
    saltLength = 32,
  }: { members?: object; session?: Buffer; signer?: typeof signKey; saltLength?: number } = {},
): SessionAnswer => {
  const clear = JSON.stringify({ ...card, publicToken, iat: nowSeconds(), ...members })
  const iv = Buffer.alloc(16, 7)
  const cipher = createCipheriv('aes-256-cbc', session, iv)
  const payload = Buffer.concat([cipher.update(clear), cipher.final()])
  const padding = constants.RSA_PKCS1_PSS_PADDING
  const signature = sign('sha256', Buffer.concat([payload, iv]), {
    key: signer,
    padding,
    saltLength,
  })
  return {
    iv: iv.toString('base64'),
    encryptedPayload: payload.toString('base64'),
    signatureOfPayloadAndIv: signature.toString('base64'),
  }
}

const unwrap = (request: SeenRequest): Buffer =>
  privateDecrypt(
    { key: wrapKey, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256' },
    Buffer.from(bodyOf(request).key, 'base64'),
  )

export const wrongSigner = rsaTestKey('other')
export const wrapKeyAsSigner = wrapKey
