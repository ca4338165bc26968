import { Problem } from '../../errors.ts'
import { type HsmOptions, openEngineHsm } from '../engine-hsm.ts'
import type { Hsm } from '../hsm.ts'
import type { KeyAdministration } from '../key-administration.ts'
import { tokenCustody } from './pkcs11-custody.ts'
import { openPkcs11KeyEngine } from './pkcs11-key-engine.ts'
import type { Token } from './token.ts'

export interface Pkcs11HsmOptions extends HsmOptions {
  readonly token: Token
}

/** How long a verb may take, however many questions to the token it is made of. */
const verbTimeoutMs = 5_000

/**
 * The HSM contract on keys that lie in a PKCS#11 token and never leave it. PANs and PINs pass through
 * this process in clear, because PKCS#11 has no verbs for them: a secure device for keys, not for PINs.
 */
export async function openPkcs11Hsm({
  token,
  ...options
}: Pkcs11HsmOptions): Promise<Hsm & KeyAdministration> {
  const hsm = await openEngineHsm(openPkcs11KeyEngine(token), options, tokenCustody(token))
  return { ...hsm, ...limitVerbs(hsm) }
}

/** The verbs that a request waits for. Making keys may take its time. */
const verbs = {
  generateCardNumber: true,
  generatePin: true,
  importPin: true,
  revealPin: true,
  fingerprintPan: true,
  isPinBlockReadable: true,
  verifyPin: true,
  verifyCvv2: true,
  generatePinBlock: true,
  sealRecord: true,
  revealRecord: true,
  fingerprintRequest: true,
  fingerprintRequestId: true,
  generateTestZoneKey: true,
  importClearZoneKey: true,
  tokenSigningKeys: true,
  cardDataKeys: true,
  generateCardDataKeys: false,
  importSessionKey: true,
  importDeviceKey: true,
  importEncryptedPin: true,
  ping: true,
} satisfies Record<keyof Hsm, boolean>

const limitedNames = new Set(
  Object.entries(verbs).flatMap(([name, isLimited]) => (isLimited ? [name] : [])),
)

type Verb = (...given: never[]) => Promise<unknown>

const limitVerbs = (hsm: Hsm): Hsm => {
  const limits = Object.entries(hsm)
    .filter(([name]) => limitedNames.has(name))
    .map(([name, verb]: [string, Verb]) => [name, limited(verb)])
  // The same names with the same functions, only that each of them ends.
  return Object.fromEntries(limits) as Hsm
}

const limited =
  (verb: Verb): Verb =>
  async (...given) => {
    const timeOut = Promise.withResolvers<never>()
    const timer = setTimeout(() => timeOut.reject(tooSlow()), verbTimeoutMs)
    try {
      return await Promise.race([verb(...given), timeOut.promise])
    } finally {
      clearTimeout(timer)
    }
  }

const tooSlow = (): Problem =>
  new Problem('unavailable', { detail: 'The token did not answer in time.' })
