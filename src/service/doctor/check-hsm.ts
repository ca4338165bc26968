import { stat } from 'node:fs/promises'
import { openTokenSession } from '../../hsm/pkcs11/token-session.ts'
import { type Check, fault, good, messageOf } from './finding.ts'

/** The HSM: what it is, and of a token whether it lets this program in. */
export const checkHsm: Check = async ({ config: { pkcs11, sandbox } }) => {
  if (pkcs11 === null) {
    // What that means is told with what was accepted.
    return [good('hsm', sandbox ? 'Software, as a sandbox has it.' : 'Software.')]
  }
  if (pkcs11.module === '' || pkcs11.pinFile === '') return []
  if (!(await stat(pkcs11.module).catch(() => null))) {
    return [
      fault(
        'hsm',
        `There is no PKCS#11 module ${pkcs11.module}.`,
        'Without it no key can be used: the service cannot start.',
        "Set PKCS11_MODULE to the vendor's shared library, such as /usr/lib/softhsm/libsofthsm2.so.",
      ),
    ]
  }
  try {
    openTokenSession(pkcs11).end()
    return [good('hsm', `The token ${pkcs11.tokenLabel} lets this program in.`)]
  } catch (error) {
    return [
      fault(
        'hsm',
        `The PKCS#11 token cannot be used: ${messageOf(error)}`,
        'Without it no key can be used: the service cannot start.',
        'Check PKCS11_TOKEN_LABEL and the PIN in PKCS11_PIN_FILE. Do not try a wrong PIN again: a token locks itself after a few.',
      ),
    ]
  }
}
