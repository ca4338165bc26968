import { Problem } from '../errors.ts'
import type { KeptKey, KeyForm } from '../hsm/key-administration.ts'
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
  { exportable, form, target }: NewKey,
): Promise<KeptVersion> {
  // Drawn before the installation is held: a long RSA key takes seconds, and nobody is to wait for it.
  const masterKeyBefore = masterKeyOf(keys)
  const drawn = await keys.hsm.generateKey(purposeOf(target), form ?? formOf(target), exportable)
  return keepKey(keys, operator, { act: 'generated', target }, async () =>
    unlessRotated(keys, masterKeyBefore, drawn),
  )
}

const formOf = (target: KeyTarget): KeyForm | null =>
  target.family === 'zone' && isForTdes(target.pinBlockFormats)
    ? { algorithm: 'TDES', lengthBytes: 16 }
    : null

const masterKeyOf = ({ hsm }: KeyManagement): string | undefined =>
  hsm.custody.masterKeys?.checkValue()

function unlessRotated(keys: KeyManagement, before: string | undefined, drawn: KeptKey): KeptKey {
  if (masterKeyOf(keys) === before) return drawn
  throw new Problem('unavailable', { detail: 'The master key is being rotated.' })
}
