import { randomBytes } from 'node:crypto'
import { tokenCheckValue } from './ciphers.ts'
import { attribute, type Handle, mechanism } from './cryptoki.ts'
import { findObjects, secretTemplate } from './objects.ts'
import type { TokenSession } from './session.ts'

const label = 'pinfold-installation'

/**
 * The check values of the keys that this token is known by: an AES key that does nothing else,
 * made in the token by the first process that finds none. Processes that start at once may make one
 * each; whichever the database remembers, this is the token that has it.
 */
export function installationCheckValues(session: TokenSession): readonly string[] {
  const found = findInstallationKeys(session)
  if (found.length === 0) {
    const id = randomBytes(16).toString('hex')
    session.cryptoki.C_GenerateKey(session.handle, { mechanism: mechanism.aesKeyGeneration }, [
      ...secretTemplate({ label, id }, 'whole', ['encrypt']),
      { type: attribute.valueLength, value: 32 },
    ])
  }
  return findInstallationKeys(session)
    .map((object) => tokenCheckValue(session, { algorithm: 'A' }, { label, id: '' }, object))
    .sort()
}

/** Whether the token that this session is with still has its keys. */
export const hasInstallationKey = (session: TokenSession): boolean =>
  findInstallationKeys(session).length > 0

const findInstallationKeys = (session: TokenSession): Handle[] =>
  findObjects(session, [{ type: attribute.label, value: label }])
