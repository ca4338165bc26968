import type { Requester } from '../../domain/client.ts'
import { Problem } from '../../domain/problem.ts'
import type { KeyForm } from '../../hsm/contract/key-administration.ts'
import type { WrappedKey } from '../../hsm/contract/stored-keys.ts'
import { type Connection, LockTimeout } from '../../storage/engine/database.ts'
import { isKeyBlockKept } from '../../storage/keys/key-blocks.ts'
import { type Answer, type RepeatableRequest, recall } from '../idempotency/idempotency.ts'
import { changeKeysOnce, type KeyContext } from './keys.ts'
import * as keyTargets from './store-key.ts'

/** A key to generate. The default form is that of its purpose or its PIN block formats. */
interface NewKey {
  readonly target: keyTargets.KeyTarget
  readonly form: KeyForm | null
  readonly exportable: boolean
}

/**
 * Generates a key inside the HSM. A key of the installation is pending until a rotation to it.
 * @throws `Problem` `key_refused`, `key_in_use`, `validation_failed`.
 */
export async function generateKey(
  keys: KeyContext,
  operator: Requester,
  newKey: NewKey,
  request: RepeatableRequest | null,
): Promise<Answer<keyTargets.AddedKey>> {
  const known = await recall<keyTargets.AddedKey>(keys, request)
  if (known) return known
  return destroyUnstored(keys, async (note) => {
    const generated = await generateUnstored(keys, newKey)
    note(generated.key)
    const { target } = newKey
    const made = { act: 'generated', target, make: generated.unlessRotated }
    return makeKey(keys, operator, made, request)
  })
}

/** A key that was generated before the installation is locked. */
interface UnstoredKey {
  readonly key: WrappedKey
  /** @throws `Problem` `unavailable` if its master key was replaced meanwhile. */
  unlessRotated(): WrappedKey
}

/** Generates a key without locking the installation, because a long RSA key takes seconds. */
export async function generateUnstored(
  { hsm }: KeyContext,
  { exportable, form, target }: NewKey,
): Promise<UnstoredKey> {
  const masterKey = () => hsm.custody.masterKeys?.checkValue()
  const masterKeyBefore = masterKey()
  // The usage of a MAC key decides its form.
  const isForPins = target.family === 'zone' && target.macUsage === undefined
  const isTdes = isForPins && keyTargets.selectCipher(target) === 'TDES'
  const usualForm = isTdes ? ({ algorithm: 'TDES', lengthBytes: 16 } as const) : null
  const key = await hsm.generateKey(keyTargets.toKeyPurpose(target), form ?? usualForm, exportable)
  return {
    key,
    unlessRotated() {
      if (masterKey() === masterKeyBefore) return key
      throw new Problem('unavailable', { detail: 'The master key is being rotated.' })
    },
  }
}

/** A key to generate while the installation is locked, and the details of its record. */
interface Making {
  readonly act: string
  readonly target: keyTargets.KeyTarget
  make(connection: Connection): WrappedKey | Promise<WrappedKey>
}

/**
 * Generates and stores a key under the lock of the installation, so that no key is wrapped under a
 * master key that another process is replacing.
 * @throws as `addKey`.
 */
export const makeKey = (
  keys: KeyContext,
  operator: Requester,
  { act, make, target }: Making,
  request: RepeatableRequest | null,
): Promise<Answer<keyTargets.AddedKey>> =>
  destroyUnstored(keys, (note) =>
    changeKeysOnce(keys, request, async ({ connection, record }) => {
      await keyTargets.lockKeys(keys, connection)
      const added = await keyTargets.addKey(keys, connection, target, note(await make(connection)))
      await record({ act, key: keyTargets.addedKeyReference(target, added), ...operator })
      return added
    }),
  )

/** Notes a generated key whose row may never be written. */
export type NoteKey = (key: WrappedKey) => WrappedKey

/**
 * Runs work that generates keys. Keys that no row names afterwards are destroyed when the HSM
 * stores keys itself: a refused or repeated request leaves nothing in a token.
 */
export async function destroyUnstored<Result>(
  { database, hsm }: KeyContext,
  work: (note: NoteKey) => Promise<Result>,
): Promise<Result> {
  const made: WrappedKey[] = []
  const discard = async () => {
    const { discardKey } = hsm.custody
    if (!discardKey) return
    for (const { keyBlock } of made) {
      try {
        if (!(await isKeyBlockKept(database, keyBlock))) await discardKey(keyBlock)
      } catch {
        // The key stays in the token, unused.
      }
    }
  }
  try {
    const result = await work((key) => {
      made.push(key)
      return key
    })
    await discard()
    return result
  } catch (error) {
    // If the database failed, it is unknown whether it committed: a key without a row is harmless,
    // a row without its key is not.
    const mayBeCommitted =
      error instanceof Problem && error.code === 'unavailable' && !(error instanceof LockTimeout)
    if (!mayBeCommitted) await discard()
    throw error
  }
}
