import Type, { type Static } from 'typebox'
import { bodyLimit } from '../../http/problems.ts'
import { closed, stringPatterns } from '../../http/validation.ts'

const coordinate = () => Type.String({ pattern: stringPatterns.coordinate })

/** Members that libraries add to public keys are accepted; a private member is not. */
export const DeviceKeySchema = Type.Object(
  {
    kty: Type.Enum(['EC', 'OKP']),
    crv: Type.Enum(['P-256', 'X25519']),
    x: coordinate(),
    y: Type.Optional(coordinate()),
    kid: Type.Optional(Type.String({ maxLength: 100 })),
    use: Type.Optional(Type.Enum(['enc'])),
    alg: Type.Optional(Type.Enum(['ECDH-ES'])),
    key_ops: Type.Optional(Type.Array(Type.String({ maxLength: 20 }), { maxItems: 8 })),
    ext: Type.Optional(Type.Boolean()),
  },
  { ...closed, description: 'A public JWK, fresh for this request: EC on P-256, or OKP X25519.' },
)

export const GetCardDataSchema = Type.Object(
  {
    deviceKey: Type.Optional(DeviceKeySchema),
    nonce: Type.Optional(
      Type.String({
        pattern: stringPatterns.nonce,
        description: 'With `deviceKey`: 16 to 64 base64url characters, new for this request.',
      }),
    ),
    key: Type.Optional(
      Type.String({
        // The limit of the body: every fault, including the length, has the same answer.
        maxLength: bodyLimit,
        description:
          'Base64 of 32 random bytes under RSA-OAEP (SHA-256, MGF1 with SHA-256, empty label) ' +
          'with the wrap key.',
      }),
    ),
    paddingMode: Type.Optional(Type.Enum(['PKCS2_2'])),
    encryptionKeyLength: Type.Optional(Type.Enum(['Rsa4096'])),
    hashingAlgorithm: Type.Optional(Type.Enum(['Sha256'])),
    includePin: Type.Optional(
      Type.Boolean({
        description: 'Needs the scope `pin.encrypted`, and a product with a revealable PIN.',
      }),
    ),
  },
  { ...closed, description: 'Exactly one of `deviceKey` (with `nonce`) and `key`.' },
)
export type GetCardDataBody = Static<typeof GetCardDataSchema>

const base64 = (description: string) => Type.String({ description })

export const SessionKeyCardDataSchema = Type.Object(
  {
    iv: base64('Base64, 16 bytes.'),
    encryptedPayload: base64('Base64: AES-256-CBC, PKCS#7, under the session key.'),
    signatureOfPayloadAndIv: base64(
      'Base64: RSA-PSS (SHA-256, salt of 32 bytes) with the sign key over the bytes of the ' +
        'payload and then the iv.',
    ),
  },
  { ...closed, description: 'The answer to a request with `key`.' },
)

export const DeviceKeyCardDataSchema = Type.Object(
  {
    jwe: Type.String({
      description: 'A JWE to the `deviceKey` in compact form, around a JWS of the sign-ec key.',
    }),
  },
  { ...closed, description: 'The answer to a request with `deviceKey`.' },
)

export const CardDataSchema = Type.Union([DeviceKeyCardDataSchema, SessionKeyCardDataSchema])
