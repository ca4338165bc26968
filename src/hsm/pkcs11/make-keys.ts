import { randomBytes } from 'node:crypto'
import { expandTdesKey } from '../../crypto/tdes.ts'
import { codesByCipher, type KeyKind } from '../contract/catalogue.ts'
import type { KeyForm, KeyPurpose } from '../contract/key-administration.ts'
import { KeyRefusal, type WrappedKey } from '../contract/stored-keys.ts'
import { combinedKey, readComponent } from '../keys/components.ts'
import { computeKeyCheckValue, refuseOtherCheckValue } from '../keys/key-check.ts'
import { selectKeyKind } from '../keys/key-purposes.ts'
import { drawFitKey, refuseUnfitKey } from '../keys/key-strength.ts'
import { drawBytes, openBytes, sealBytes, tokenCheckValue } from './ciphers.ts'
import { attribute, keyType, mechanism } from './cryptoki.ts'
import * as tokenObjects from './objects.ts'
import type { TokenSession } from './session.ts'

/**
 * The permissions of each mode of use (X9.143, table 7). Verifying a PVV or CVV means generating it
 * again.
 */
const allowedByMode: Readonly<Record<string, readonly tokenObjects.Permission[]>> = {
  B: ['encrypt', 'decrypt'],
  C: ['encrypt'],
  D: ['decrypt'],
  E: ['encrypt'],
  G: ['sign'],
  S: ['sign'],
  X: ['derive'],
}

/** Generates a key in the token, which it never leaves. */
export async function generateTokenKey(session: TokenSession, kind: KeyKind): Promise<WrappedKey> {
  const key = newKey(kind)
  // Half of a pair cannot become a separate key without its bytes.
  if (tokenObjects.hasKeyA(kind)) return drawPair(session, kind, key)
  const { algorithm } = kind
  if (algorithm === '1') throw new KeyRefusal('The token does not support ML-DSA-44.')
  if (algorithm === 'E' || algorithm === 'R') generatePair(session, kind, key)
  else generateSecret(session, kind, algorithm, key)
  const whole = tokenObjects.findObject(session, key, 'whole')
  return {
    keyBlock: tokenObjects.composeReference(key),
    keyCheckValue: tokenCheckValue(session, kind, key, whole),
  }
}

/**
 * Imports the bytes of a symmetric key.
 * @throws KeyRefusal
 */
export function importTokenKey(
  session: TokenSession,
  kind: KeyKind,
  bytes: Uint8Array,
): WrappedKey {
  refuseUnfitKey(kind, bytes)
  const key = newKey(kind)
  createSecrets(session, kind, key, bytes)
  return {
    keyBlock: tokenObjects.composeReference(key),
    keyCheckValue: computeKeyCheckValue(kind.algorithm, bytes),
  }
}

const newKey = (kind: KeyKind): tokenObjects.TokenKey => ({
  label: tokenObjects.composeLabel(kind, 'N'),
  id: randomBytes(16).toString('hex'),
})

/**
 * A zone master key is only used for MACs, which need encryption only. So does a key that those of
 * chips are derived from, which is enciphering.
 */
const listPermissions = ({
  algorithm,
  keyUsage,
  modeOfUse,
}: KeyKind): readonly tokenObjects.Permission[] =>
  keyUsage === 'K1' || (modeOfUse === 'X' && algorithm === 'T')
    ? ['encrypt']
    : (allowedByMode[modeOfUse] ?? [])

async function drawPair(
  session: TokenSession,
  kind: KeyKind,
  key: tokenObjects.TokenKey,
): Promise<WrappedKey> {
  const bytes = await drawFitKey(kind, (lengthBytes) => drawBytes(session, lengthBytes))
  createSecrets(session, kind, key, bytes)
  const keyCheckValue = computeKeyCheckValue(kind.algorithm, bytes)
  bytes.fill(0)
  return { keyBlock: tokenObjects.composeReference(key), keyCheckValue }
}

function createSecrets(
  { cryptoki, handle }: TokenSession,
  kind: KeyKind,
  key: tokenObjects.TokenKey,
  bytes: Uint8Array,
): void {
  const create = (part: 'whole' | 'keyA', type: number, value: Uint8Array) =>
    cryptoki.C_CreateObject(handle, [
      ...tokenObjects.secretTemplate(key, part, listPermissions(kind)),
      ...tokenObjects.bytesTemplate(type, value),
    ])
  if (kind.algorithm === 'T') create('whole', keyType.des3, expandTdesKey(bytes))
  else create('whole', kind.algorithm === 'A' ? keyType.aes : keyType.genericSecret, bytes)
  // Few modules still have single DES. `expandTdesKey` makes A, A, A, which is equivalent.
  if (tokenObjects.hasKeyA(kind)) create('keyA', keyType.des3, expandTdesKey(bytes.subarray(0, 8)))
}

function generateSecret(
  { cryptoki, handle }: TokenSession,
  kind: KeyKind,
  algorithm: 'A' | 'T' | 'H',
  key: tokenObjects.TokenKey,
): void {
  const { lengthBytes } = kind
  const generation = {
    A: mechanism.aesKeyGeneration,
    T: lengthBytes === 16 ? mechanism.des2KeyGeneration : mechanism.des3KeyGeneration,
    H: mechanism.genericSecretKeyGeneration,
  }[algorithm]
  const length = { type: attribute.valueLength, value: lengthBytes ?? 0 }
  cryptoki.C_GenerateKey(handle, { mechanism: generation }, [
    ...tokenObjects.secretTemplate(key, 'whole', listPermissions(kind)),
    ...(algorithm === 'T' ? [] : [length]),
  ])
}

const pairGenerations: Readonly<Record<tokenObjects.PairForm, number>> = {
  'P-256': mechanism.ecKeyPairGeneration,
  Ed25519: mechanism.edwardsKeyPairGeneration,
  RSA: mechanism.rsaKeyPairGeneration,
}

function generatePair(
  { cryptoki, handle }: TokenSession,
  kind: KeyKind,
  key: tokenObjects.TokenKey,
): void {
  const onCurve = tokenObjects.isEdwards(kind) ? 'Ed25519' : 'P-256'
  const form = kind.algorithm === 'R' ? 'RSA' : onCurve
  cryptoki.C_GenerateKeyPair(
    handle,
    { mechanism: pairGenerations[form] },
    tokenObjects.publicTemplate(key, form),
    tokenObjects.privateTemplate(key, listPermissions(kind)),
  )
}

/** The key that seals components until the last one arrives. It never leaves the token. */
const sealingKind: KeyKind = {
  purpose: 'component',
  keyUsage: '10',
  algorithm: 'A',
  modeOfUse: 'B',
  action: 'seal',
  lengthBytes: 32,
}

const ivLength = 12
const mark = ';sealed='

/**
 * Imports one component, in hexadecimal.
 * @returns the component, sealed under a key of the token.
 * @throws KeyRefusal
 */
export async function importComponent(
  session: TokenSession,
  form: KeyForm,
  component: string,
  due: string,
): Promise<WrappedKey> {
  const { bytes, keyCheckValue } = readComponent(form, component, due)
  try {
    // Concurrent first calls may generate a key each: the sealed bytes name their key.
    const key =
      (await findSealingKey(session)) ??
      tokenObjects.parseReference((await generateTokenKey(session, sealingKind)).keyBlock)
    const object = tokenObjects.findObject(session, key, 'whole')
    tokenObjects.refuseExtractable(session, object)
    const iv = drawBytes(session, ivLength)
    const sealed = sealBytes(session, object, bytes, { iv, associated: associated(form) })
    const text = Buffer.concat([iv, sealed]).toString('base64url')
    return { keyBlock: `${tokenObjects.composeReference(key)}${mark}${text}`, keyCheckValue }
  } finally {
    bytes.fill(0)
  }
}

/**
 * Combines components into a key in the token. The components and the key are in this process
 * meanwhile: PKCS#11 has no verb that combines keys in the token.
 * @throws KeyRefusal
 */
export function combineTokenComponents(
  session: TokenSession,
  purpose: KeyPurpose,
  form: KeyForm,
  given: { readonly components: readonly string[]; readonly keyCheckValue: string },
): WrappedKey {
  const kind = selectKeyKind(purpose, form)
  const clear: Buffer[] = []
  const wipedAfter = (bytes: Buffer): Buffer => {
    clear.push(bytes)
    return bytes
  }
  try {
    const open = (component: string) => wipedAfter(openComponent(session, form, component))
    const key = wipedAfter(combinedKey(form, given.components.map(open)))
    refuseUnfitKey(kind, key)
    refuseOtherCheckValue(codesByCipher[form.algorithm], key, given.keyCheckValue)
    return importTokenKey(session, kind, key)
  } finally {
    for (const bytes of clear) bytes.fill(0)
  }
}

function openComponent(session: TokenSession, form: KeyForm, wrapped: string): Buffer {
  const [reference = '', text] = wrapped.split(mark)
  const key = tokenObjects.parseReference(reference)
  if (text === undefined || key.label !== tokenObjects.composeLabel(sealingKind, 'N')) {
    throw new KeyRefusal('The value is not a key component.')
  }
  const sealed = Buffer.from(text, 'base64url')
  const iv = sealed.subarray(0, ivLength)
  const object = tokenObjects.findObject(session, key, 'whole')
  return openBytes(session, object, sealed.subarray(ivLength), { iv, associated: associated(form) })
}

/** Binds a component to its form. */
const associated = ({ algorithm, lengthBytes }: KeyForm): Buffer =>
  Buffer.from(`component ${algorithm} ${lengthBytes}`)

async function findSealingKey(session: TokenSession): Promise<tokenObjects.TokenKey | null> {
  const label = tokenObjects.composeLabel(sealingKind, 'N')
  const [object] = tokenObjects.findObjects(session, [{ type: attribute.label, value: label }])
  if (!object) return null
  const { cryptoki, handle } = session
  const [id] = cryptoki.C_GetAttributeValue(handle, object, [{ type: attribute.id }])
  return id ? { label, id: id.value.toString('hex') } : null
}
