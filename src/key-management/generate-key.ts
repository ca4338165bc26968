import { Problem } from '../errors.ts'
import type { KeptKey, KeyForm } from '../hsm/key-administration.ts'
import { recall } from '../idempotency/recall.ts'
import type { Answer, RepeatableRequest } from '../idempotency/remembered.ts'
import { discardUnkept } from './discard-unkept.ts'
import { isForTdes, type KeptVersion, type KeyTarget, keepKey, purposeOf } from './keep-key.ts'
import type { KeyManagement, Operator } from './key-management.ts'

/** A key to draw. Without a form, the one that its purpose or its PIN block formats ask for. */
export interface NewKey {
  readonly target: KeyTarget
  readonly form: KeyForm | null
  readonly exportable: boolean
}

/**
 * Draws a key inside the HSM. One of the installation's own is pending until it is rotated to.
 * @throws `Problem` `key_refused`, `key_in_use`, `validation_failed`.
 */
export async function generateKey(
  keys: KeyManagement,
  operator: Operator,
  newKey: NewKey,
  request: RepeatableRequest | null,
): Promise<Answer<KeptVersion>> {
  const known = await recall<KeptVersion>(keys, request)
  if (known) return known
  return discardUnkept(keys, async (made) => {
    const drawn = await drawKey(keys, newKey)
    made(drawn.key)
    const { target } = newKey
    return keepKey(keys, operator, { act: 'generated', target }, request, drawn.unlessRotated)
  })
}

/** A key that was drawn before the installation is held for it. */
export interface DrawnKey {
  readonly key: KeptKey
  /** @throws `Problem` `unavailable` where the master key that it was wrapped under has gone meanwhile. */
  unlessRotated(): KeptKey
}

/** Draws a key. A long RSA key takes seconds: nobody is to wait for it, so the installation is not held. */
export async function drawKey(
  keys: KeyManagement,
  { exportable, form, target }: NewKey,
): Promise<DrawnKey> {
  const masterKeyBefore = masterKeyOf(keys)
  const key = await keys.hsm.generateKey(purposeOf(target), form ?? formOf(target), exportable)
  return {
    key,
    unlessRotated() {
      if (masterKeyOf(keys) === masterKeyBefore) return key
      throw new Problem('unavailable', { detail: 'The master key is being rotated.' })
    },
  }
}

const formOf = (target: KeyTarget): KeyForm | null =>
  target.family === 'zone' && isForTdes(target.pinBlockFormats)
    ? { algorithm: 'TDES', lengthBytes: 16 }
    : null

const masterKeyOf = ({ hsm }: KeyManagement): string | undefined =>
  hsm.custody.masterKeys?.checkValue()
