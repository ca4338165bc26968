import type { KeyKind } from '../contract/catalogue.ts'
import type { KeyAttributes } from '../contract/key-administration.ts'
import type { Exportability } from '../keys/key-engine.ts'
import { type Attribute, attribute, type Handle, keyType, objectClass } from './cryptoki.ts'
import type { TokenSession } from './session.ts'

/**
 * A key in the token as the key store names it: a URI in the form of RFC 7512. The label contains
 * the use of the key and cannot be changed in the token, so a reference cannot get another use.
 */
export interface TokenKey {
  /**
   * `pinfold-` with usage, algorithm, mode of use and exportability, as in a key block; then the
   * purpose and, for a symmetric key, the length: `pinfold-P0TDN-zone-16`. Older labels have the
   * first part only.
   */
  readonly label: string
  /** 16 random bytes in hex. All objects of a key have the same id (CKA_ID). */
  readonly id: string
}

const headerForm =
  /(?<keyUsage>[A-Z0-9]{2})(?<algorithm>[A-Z])(?<modeOfUse>[A-Z])(?<exportability>[EN])/
const purposeForm = /(?<purpose>[a-z]+(?:-[a-z]+)*)(?:-(?<length>[0-9]{2}))?/
const labelForm = new RegExp(`^pinfold-${headerForm.source}(?:-${purposeForm.source})?$`)
const form = /^pkcs11:object=(pinfold-[A-Za-z0-9-]+);id=((?:%[0-9A-F]{2}){16})$/

export const composeReference = ({ id, label }: TokenKey): string =>
  `pkcs11:object=${label};id=${id.toUpperCase().replace(/../g, '%$&')}`

/** @throws Error if the text is no reference to a key in a token. */
export function parseReference(reference: string): TokenKey {
  const [, label, id] = form.exec(reference) ?? []
  if (label === undefined || id === undefined || !labelForm.test(label))
    throw new Error('The text is not a reference to a key in a token.')
  return { label, id: id.replaceAll('%', '').toLowerCase() }
}

export const composeLabel = (
  { algorithm, keyUsage, lengthBytes, modeOfUse, purpose }: KeyKind,
  exportability: Exportability,
): string => {
  const use = `pinfold-${keyUsage}${algorithm}${modeOfUse}${exportability}-${purpose}`
  return lengthBytes === null ? use : `${use}-${lengthBytes}`
}

/** The attributes in a label; null for the parts that older labels lack. */
interface TokenKeyUse extends KeyAttributes {
  readonly purpose: string | null
  readonly lengthBytes: number | null
}

/** Parses the attributes of a key from its label. */
export function parseLabel({ label }: TokenKey): TokenKeyUse {
  const parts = labelForm.exec(label)?.groups
  if (!parts) throw new Error('The text is not a reference to a key in a token.')
  const { algorithm = '', exportability = '', keyUsage = '', modeOfUse = '' } = parts
  const { length, purpose = null } = parts
  const lengthBytes = length === undefined ? null : Number(length)
  return { keyUsage, algorithm, modeOfUse, exportability, purpose, lengthBytes }
}

/** The parts of a key that are separate objects: key A of a pair, a public half. */
export const parts = ['whole', 'keyA', 'publicHalf'] as const
export type Part = (typeof parts)[number]

/** Whether the first key of a pair also works alone: in CVVs and in the retail MAC. */
export const hasKeyA = ({ keyUsage }: Pick<KeyKind, 'keyUsage'>): boolean =>
  keyUsage === 'C0' || keyUsage === 'M3'

/** The permissions of a key; all others are denied. */
export type Permission = 'encrypt' | 'decrypt' | 'sign' | 'derive'

const permissions = ['encrypt', 'decrypt', 'sign', 'verify', 'wrap', 'unwrap', 'derive'] as const
const privateHalfPermissions = ['decrypt', 'sign', 'unwrap', 'derive'] as const

/**
 * The token does not have the key, or is unavailable. Only another attempt distinguishes the two.
 */
export class KeyMissing extends Error {
  constructor() {
    super('The key is not in the token.')
    this.name = 'KeyMissing'
  }
}

/** Every permission is stated, because modules may grant those that are omitted. */
const allow = (
  allowed: readonly Permission[],
  among: readonly (keyof typeof attribute)[] = permissions,
): Attribute[] =>
  among.map((permission) => ({
    type: attribute[permission],
    value: allowed.some((each) => each === permission),
  }))

const partLabels: Record<Part, (label: string) => string> = {
  whole: (label) => label,
  keyA: (label) => `${label}-A`,
  publicHalf: (label) => `${label}-public`,
}

const listNameAttributes = ({ id, label }: TokenKey, part: Part): Attribute[] => [
  { type: attribute.label, value: partLabels[part](label) },
  { type: attribute.id, value: Buffer.from(id, 'hex') },
]

/** A symmetric key, or a part of one. */
export const secretTemplate = (
  key: TokenKey,
  part: Part,
  allowed: readonly Permission[],
): Attribute[] => [...keptInside(key, part), ...allow(allowed)]

/** The private half of a pair. */
export const privateTemplate = (key: TokenKey, allowed: readonly Permission[]): Attribute[] => [
  ...keptInside(key, 'whole'),
  ...allow(allowed, privateHalfPermissions),
]

/** The attributes of every key that must not leave the token. */
const keptInside = (key: TokenKey, part: Part): Attribute[] => [
  ...listNameAttributes(key, part),
  { type: attribute.token, value: true },
  { type: attribute.private, value: true },
  { type: attribute.sensitive, value: true },
  { type: attribute.extractable, value: false },
  // Otherwise anyone with the PIN could give the key another label and another use.
  { type: attribute.modifiable, value: false },
]

/** The template of a symmetric key with known bytes. */
export const bytesTemplate = (type: number, bytes: Uint8Array): Attribute[] => [
  { type: attribute.class, value: objectClass.secretKey },
  { type: attribute.keyType, value: type },
  { type: attribute.value, value: Buffer.from(bytes) },
]

/** Whether a pair is Ed25519. Its label names the purpose, not the curve. */
export const isEdwards = ({ purpose }: { readonly purpose: string | null }): boolean =>
  purpose === 'audit'

/** P-256 (RFC 5480, section 2.1.1.1) in DER. */
const p256 = Buffer.from('06082a8648ce3d030107', 'hex')

/** `edwards25519` as a PrintableString, which old and new modules accept (PKCS#11 3.0, 6.3.5). */
const ed25519 = Buffer.from('130c656477617264733235353139', 'hex')

/** The pairs that a token can generate: P-256, Ed25519, or RSA-4096 with exponent 65,537. */
export type PairForm = 'P-256' | 'Ed25519' | 'RSA'

/** The template of the public half of a new pair. */
export const publicTemplate = (key: TokenKey, form: PairForm): Attribute[] => [
  ...listNameAttributes(key, 'publicHalf'),
  { type: attribute.token, value: true },
  ...pairParameters[form],
]

const pairParameters = {
  'P-256': [
    { type: attribute.keyType, value: keyType.ec },
    { type: attribute.ecParameters, value: p256 },
  ],
  Ed25519: [
    { type: attribute.keyType, value: keyType.ecEdwards },
    { type: attribute.ecParameters, value: ed25519 },
  ],
  RSA: [
    { type: attribute.keyType, value: keyType.rsa },
    { type: attribute.modulusBits, value: 4096 },
    { type: attribute.publicExponent, value: Buffer.of(1, 0, 1) },
  ],
} as const satisfies Record<PairForm, readonly Attribute[]>

/**
 * Finds the object of a part.
 * @throws KeyMissing unless there is exactly one.
 */
export function findObject(session: TokenSession, key: TokenKey, part: Part): Handle {
  const [object, another] = findObjects(session, listNameAttributes(key, part))
  if (!object || another) throw new KeyMissing()
  return object
}

/** The maximum number of objects read. A first start of many processes creates a handful. */
const foundMax = 100

export function findObjects({ cryptoki, handle }: TokenSession, template: Attribute[]): Handle[] {
  cryptoki.C_FindObjectsInit(handle, template)
  const found = cryptoki.C_FindObjects(handle, foundMax)
  cryptoki.C_FindObjectsFinal(handle)
  return found
}

/** Destroys every object of a key. */
export function destroyKey(session: TokenSession, key: TokenKey): void {
  for (const part of parts) {
    for (const object of findObjects(session, listNameAttributes(key, part))) {
      session.cryptoki.C_DestroyObject(session.handle, object)
    }
  }
}

/**
 * Rejects an extractable key.
 * @throws Error if the token would export the key.
 */
export function refuseExtractable({ cryptoki, handle }: TokenSession, object: Handle): void {
  const [sensitive, extractable] = cryptoki.C_GetAttributeValue(handle, object, [
    { type: attribute.sensitive },
    { type: attribute.extractable },
  ])
  if (sensitive?.value[0] !== 1 || extractable?.value[0] !== 0) {
    throw new Error('The key in the token is extractable.')
  }
}
