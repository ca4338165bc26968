import { codeOf, combinedKey, readComponent } from '../component-rules.ts'
import type { KeyForm, KeyPurpose } from '../key-administration.ts'
import { refuseOtherCheckValue } from '../key-check.ts'
import type { GeneratedKey } from '../key-engine.ts'
import { refuseUnfitKey } from '../key-fitness.ts'
import { kindOf } from '../key-purposes.ts'
import { KeyRefusal } from '../key-strength.ts'
import type { KeyKind } from '../key-table.ts'
import { attribute } from './constants.ts'
import { drawBytes, openBytes, sealBytes } from './token-ciphers.ts'
import { labelOf, readReference, referenceTo, type TokenKey } from './token-key.ts'
import { generateKey, importKey } from './token-making.ts'
import { findObject, findObjects, refuseExtractable } from './token-objects.ts'
import type { TokenSession } from './token-session.ts'

/** What components are sealed under until the last of them has come. It never leaves the token. */
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
 * Takes in one component, in hexadecimal. @returns it sealed under a key of the token.
 * @throws KeyRefusal
 */
export async function keepComponent(
  session: TokenSession,
  form: KeyForm,
  component: string,
  due: string,
): Promise<GeneratedKey> {
  const { bytes, keyCheckValue } = readComponent(form, component, due)
  try {
    const key = (await findSealingKey(session)) ?? (await makeSealingKey(session))
    const object = findObject(session, key, 'whole')
    refuseExtractable(session, object)
    const iv = drawBytes(session, ivLength)
    const sealed = sealBytes(session, object, iv, associated(form), bytes)
    const text = Buffer.concat([iv, sealed]).toString('base64url')
    return { keyBlock: `${referenceTo(key)}${mark}${text}`, keyCheckValue }
  } finally {
    bytes.fill(0)
  }
}

/**
 * Puts the key that components make into the token. They and it are in this process until it is there:
 * PKCS#11 has no verb that combines what lies in the token.
 * @throws KeyRefusal
 */
export function combineComponents(
  session: TokenSession,
  purpose: KeyPurpose,
  form: KeyForm,
  kept: readonly string[],
  due: string,
): GeneratedKey {
  const kind = kindOf(purpose, form)
  const clear: Buffer[] = []
  const wipedAfter = (bytes: Buffer): Buffer => {
    clear.push(bytes)
    return bytes
  }
  try {
    const components = kept.map((each) => wipedAfter(openComponent(session, form, each)))
    const key = wipedAfter(combinedKey(form, components))
    refuseUnfitKey(kind, key)
    refuseOtherCheckValue(codeOf(form), key, due)
    return importKey(session, kind, key)
  } finally {
    for (const bytes of clear) bytes.fill(0)
  }
}

function openComponent(session: TokenSession, form: KeyForm, kept: string): Buffer {
  const [reference = '', text] = kept.split(mark)
  const key = readReference(reference)
  if (text === undefined || key.label !== labelOf(sealingKind, 'N')) {
    throw new KeyRefusal('This is no key component.')
  }
  const sealed = Buffer.from(text, 'base64url')
  const iv = sealed.subarray(0, ivLength)
  const object = findObject(session, key, 'whole')
  return openBytes(session, object, iv, associated(form), sealed.subarray(ivLength))
}

/** A component of one form is none of another. */
const associated = ({ algorithm, lengthBytes }: KeyForm): Buffer =>
  Buffer.from(`component ${algorithm} ${lengthBytes}`)

/** Several that begin at once may make a key each: what was sealed says under which it is. */
async function makeSealingKey(session: TokenSession): Promise<TokenKey> {
  return readReference((await generateKey(session, sealingKind)).keyBlock)
}

async function findSealingKey(session: TokenSession): Promise<TokenKey | null> {
  const label = labelOf(sealingKind, 'N')
  const [object] = findObjects(session, [{ type: attribute.label, value: label }])
  if (!object) return null
  const { cryptoki, handle } = session
  const [id] = cryptoki.C_GetAttributeValue(handle, object, [{ type: attribute.id }])
  return id ? { label, id: id.value.toString('hex') } : null
}
