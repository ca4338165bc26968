import { randomBytes } from 'node:crypto'
import { tokenCheckValue } from './ciphers.ts'
import { attribute, type Handle, mechanism } from './cryptoki.ts'
import { findObjects, secretTemplate } from './objects.ts'
import type { TokenSession } from './session.ts'

const label = 'pinfold-installation'

/**
 * Returns the check values of the keys that identify this token: AES keys without another use. The
 * first process that finds none generates one. Processes that start at once may generate one each;
 * the database remembers one of them, and this token has it.
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

/** Whether the token of this session still has its keys. */
export const hasInstallationKey = (session: TokenSession): boolean =>
  findInstallationKeys(session).length > 0

const findInstallationKeys = (session: TokenSession): Handle[] =>
  findObjects(session, [{ type: attribute.label, value: label }])
