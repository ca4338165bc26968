import { randomBytes } from 'node:crypto'
import { expandTdesKey } from '../../crypto/tdes.ts'
import { keyCheckValueOf } from '../key-check.ts'
import type { GeneratedKey } from '../key-engine.ts'
import { drawFitKey, refuseUnfitKey } from '../key-fitness.ts'
import type { KeyKind } from '../key-table.ts'
import { attribute, keyType, mechanism } from './constants.ts'
import { tokenCheckValue } from './token-check.ts'
import { drawBytes } from './token-ciphers.ts'
import { labelOf, referenceTo, type TokenKey } from './token-key.ts'
import {
  bytesTemplate,
  findObject,
  type Permission,
  privateTemplate,
  publicTemplate,
  secretTemplate,
} from './token-objects.ts'
import type { TokenSession } from './token-session.ts'

/** What a mode of use allows (X9.143, table 7). Whoever verifies a PVV or CVV makes it again. */
const allowedByMode: Readonly<Record<string, readonly Permission[]>> = {
  B: ['encrypt', 'decrypt'],
  C: ['encrypt'],
  D: ['decrypt'],
  E: ['encrypt'],
  G: ['sign'],
  S: ['sign'],
  X: ['derive'],
}

/** Makes a key in the token, which it never leaves. */
export async function generateKey(session: TokenSession, kind: KeyKind): Promise<GeneratedKey> {
  const key = newKey(kind)
  // One half of a pair cannot be made a key of its own without its bytes.
  if (kind.action === 'cvv') return drawCvvKey(session, kind, key)
  const { algorithm } = kind
  if (algorithm === 'E' || algorithm === 'R') generatePair(session, kind, algorithm, key)
  else generateSecret(session, kind, key)
  const whole = findObject(session, key, 'whole')
  return {
    keyBlock: referenceTo(key),
    keyCheckValue: tokenCheckValue(session, kind, key, whole),
  }
}

/** Takes in the bytes of a symmetric key. @throws KeyRefusal */
export function importKey(session: TokenSession, kind: KeyKind, bytes: Uint8Array): GeneratedKey {
  refuseUnfitKey(kind, bytes)
  const key = newKey(kind)
  createSecrets(session, kind, key, bytes)
  return { keyBlock: referenceTo(key), keyCheckValue: keyCheckValueOf(kind.algorithm, bytes) }
}

const newKey = (kind: KeyKind): TokenKey => ({
  label: labelOf(kind, 'N'),
  id: randomBytes(16).toString('hex'),
})

/** A zone master key works by MACs alone, which are made of it by enciphering. */
const permissionsOf = ({ keyUsage, modeOfUse }: KeyKind): readonly Permission[] =>
  keyUsage === 'K1' ? ['encrypt'] : (allowedByMode[modeOfUse] ?? [])

async function drawCvvKey(
  session: TokenSession,
  kind: KeyKind,
  key: TokenKey,
): Promise<GeneratedKey> {
  const bytes = await drawFitKey(kind, (lengthBytes) => drawBytes(session, lengthBytes))
  createSecrets(session, kind, key, bytes)
  const keyCheckValue = keyCheckValueOf(kind.algorithm, bytes)
  bytes.fill(0)
  return { keyBlock: referenceTo(key), keyCheckValue }
}

function createSecrets(
  { cryptoki, handle }: TokenSession,
  kind: KeyKind,
  key: TokenKey,
  bytes: Uint8Array,
): void {
  const create = (part: 'whole' | 'keyA', type: number, value: Uint8Array) =>
    cryptoki.C_CreateObject(handle, [
      ...secretTemplate(key, part, permissionsOf(kind)),
      ...bytesTemplate(type, value),
    ])
  create('whole', importedType(kind), kind.algorithm === 'T' ? expandTdesKey(bytes) : bytes)
  // Few modules still have single DES: `expandTdesKey` makes A, A, A of it, which is the same.
  if (kind.action === 'cvv') create('keyA', keyType.des3, expandTdesKey(bytes.subarray(0, 8)))
}

function importedType({ algorithm }: KeyKind): number {
  if (algorithm === 'T') return keyType.des3
  return algorithm === 'A' ? keyType.aes : keyType.genericSecret
}

function generateSecret({ cryptoki, handle }: TokenSession, kind: KeyKind, key: TokenKey): void {
  const length = { type: attribute.valueLength, value: kind.lengthBytes ?? 0 }
  cryptoki.C_GenerateKey(handle, { mechanism: generationOf(kind) }, [
    ...secretTemplate(key, 'whole', permissionsOf(kind)),
    ...(kind.algorithm === 'T' ? [] : [length]),
  ])
}

function generationOf({ algorithm, lengthBytes }: KeyKind): number {
  if (algorithm === 'A') return mechanism.aesKeyGeneration
  if (algorithm === 'H') return mechanism.genericSecretKeyGeneration
  return lengthBytes === 16 ? mechanism.des2KeyGeneration : mechanism.des3KeyGeneration
}

const pairGenerations = { E: mechanism.ecKeyPairGeneration, R: mechanism.rsaKeyPairGeneration }

function generatePair(
  { cryptoki, handle }: TokenSession,
  kind: KeyKind,
  algorithm: 'E' | 'R',
  key: TokenKey,
): void {
  cryptoki.C_GenerateKeyPair(
    handle,
    { mechanism: pairGenerations[algorithm] },
    publicTemplate(key, algorithm),
    privateTemplate(key, permissionsOf(kind)),
  )
}
