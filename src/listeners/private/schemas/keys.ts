import Type, { type Static } from 'typebox'
import { isKeyName } from '../../../domain/identifiers.ts'
import { Problem, validationFailed } from '../../../domain/problem.ts'
import type { KeyForm, KeyTarget } from '../../../operations/keys/store-key.ts'
import { stringPatterns } from '../../http/validation.ts'

const instant = Type.Union([Type.String({ format: 'date-time' }), Type.Null()])

export const keyName = Type.String({
  pattern: '^[a-z0-9][a-z0-9-]{0,31}$',
  maxLength: 32,
  format: 'free-text',
})
export const checkValue = Type.String({
  pattern: '^[0-9A-Fa-f]{6,16}$',
  format: 'check-value',
  description: 'Three bytes or more, in hexadecimal.',
})

export const family = Type.Enum(['master', 'installation', 'zone-master', 'zone'] as const)

/** The destination of a key. */
export const targetMembers = {
  family: Type.Enum(['installation', 'zone', 'zone-master'] as const),
  key: keyName,
  clientId: Type.Optional(Type.String({ pattern: stringPatterns.clientId })),
  pinBlockFormats: Type.Optional(
    Type.Array(
      Type.Enum(['ISO_FORMAT_0', 'ISO_FORMAT_1', 'ISO_FORMAT_3', 'ISO_FORMAT_4'] as const),
      { minItems: 1, maxItems: 4, uniqueItems: true },
    ),
  ),
  macUsage: Type.Optional(
    Type.Enum(['M0', 'M1', 'M3', 'M6'] as const, {
      description: "The usage of a zone's MAC key (X9.143, table 5), instead of `pinBlockFormats`.",
    }),
  ),
}
const TargetSchema = Type.Object(targetMembers)

/** Algorithm and length, if the purpose allows a choice. */
export const formMembers = {
  algorithm: Type.Optional(Type.Enum(['TDES', 'AES'] as const)),
  lengthBytes: Type.Optional(Type.Integer({ minimum: 8, maximum: 32 })),
}

export const KeyParamsSchema = Type.Object({ key: Type.String() })
export const VersionParamsSchema = Type.Object({ key: Type.String(), version: Type.String() })

/** A version has at most five digits. */
export const versionMax = 99_999

/**
 * Parses the version in a path.
 * @throws `Problem` `not_found` if the text cannot be one.
 */
export function parseKeyVersion({ params }: { params: Static<typeof VersionParamsSchema> }) {
  const { key, version } = params
  if (!isKeyName(key) || !/^[1-9][0-9]{0,4}$/.test(version)) throw new Problem('not_found')
  return { key, version: Number(version) }
}

/**
 * @throws `Problem` `validation_failed` if members of a zone key are missing, or given for another
 *   key.
 */
export function parseKeyTarget({
  clientId,
  family,
  key,
  macUsage,
  pinBlockFormats,
}: Static<typeof TargetSchema>): KeyTarget {
  if (family !== 'zone') {
    const ofZone = Object.entries({ clientId, pinBlockFormats, macUsage })
    const [given] = ofZone.find(([, value]) => value !== undefined) ?? []
    if (given === undefined) return { family, key }
    throw validationFailed({ pointer: `/${given}`, detail: 'is allowed for a zone key only' })
  }
  if (clientId === undefined)
    throw validationFailed({ pointer: '/clientId', detail: 'must be given' })
  if (macUsage && pinBlockFormats) {
    throw validationFailed({
      pointer: '/macUsage',
      detail: 'must not be combined with pinBlockFormats',
    })
  }
  if (macUsage) return { family, key, clientId, pinBlockFormats: [], macUsage }
  if (pinBlockFormats === undefined) {
    throw validationFailed({ pointer: '/pinBlockFormats', detail: 'must be given' })
  }
  const isMixed = pinBlockFormats.includes('ISO_FORMAT_4') && pinBlockFormats.length > 1
  if (!isMixed) return { family, key, clientId, pinBlockFormats }
  throw validationFailed({ pointer: '/pinBlockFormats', detail: 'must be for one algorithm' })
}

/** @throws `Problem` `validation_failed` if one is given without the other. */
export function parseKeyForm({
  algorithm,
  lengthBytes,
}: {
  algorithm?: KeyForm['algorithm']
  lengthBytes?: number
}): KeyForm | null {
  if (algorithm === undefined && lengthBytes === undefined) return null
  if (algorithm !== undefined && lengthBytes !== undefined) return { algorithm, lengthBytes }
  throw validationFailed({ pointer: '/lengthBytes', detail: 'must be combined with algorithm' })
}

export const KeptVersionSchema = Type.Object({
  family,
  key: Type.String(),
  version: Type.Union([Type.Integer(), Type.Null()]),
  keyCheckValue: Type.String(),
})

const orNull = Type.Union([Type.String(), Type.Null()])

export const KeyActSchema = Type.Object({
  at: Type.String({ format: 'date-time' }),
  act: Type.String(),
  key: Type.String(),
  clientId: orNull,
  clientName: Type.Union([Type.String(), Type.Null()], {
    description: 'The name of the person or the client; null if it is not known.',
  }),
  requestId: orNull,
  reason: Type.Union([Type.String(), Type.Null()], {
    description: 'The reason in the request; null without one.',
  }),
})

const ReEncryptionSchema = Type.Object({
  columnName: Type.String(),
  round: Type.Integer(),
  examined: Type.Integer(),
  reEncrypted: Type.Integer(),
  leftInRound: Type.Integer(),
  shareOfCards: Type.Number({
    minimum: 0,
    maximum: 1,
    description: 'The share of the cards that this round has processed.',
  }),
  secondsLeft: Type.Union([Type.Integer(), Type.Null()], {
    description: 'Estimated remaining time, at the present rate.',
  }),
  startedAt: instant,
  finishedAt: instant,
})

export const ListedKeySchema = Type.Object({
  family,
  key: Type.String(),
  version: Type.Union([Type.Integer(), Type.Null()]),
  clientId: Type.Optional(Type.String()),
  pinBlockFormats: Type.Optional(Type.Unsafe<readonly string[]>(Type.Array(Type.String()))),
  keyUsage: Type.Optional(Type.String({ description: 'X9.143, table 5.' })),
  algorithm: Type.Optional(Type.String({ description: 'X9.143, table 6.' })),
  modeOfUse: Type.Optional(Type.String({ description: 'X9.143, table 7.' })),
  exportability: Type.Optional(Type.String({ description: 'X9.143, table 8.' })),
  checkMethod: Type.Optional(Type.String()),
  state: Type.Enum(['pending', 'active', 'retired'] as const),
  current: Type.Boolean(),
  keyCheckValue: Type.String(),
  createdAt: instant,
  activatesAt: instant,
  activatedAt: instant,
  retiredAt: instant,
  uses: Type.Optional(
    Type.Integer({
      description: 'By all processes, including uses that running ones have reserved.',
    }),
  ),
  rotationDueAt: Type.Optional(instant),
  rotationDue: Type.Optional(
    Type.Union([Type.Enum(['age', 'uses'] as const), Type.Null()], {
      description: 'Why a rotation of the active version is due.',
    }),
  ),
  reEncryption: Type.Union([ReEncryptionSchema, Type.Null()]),
})
