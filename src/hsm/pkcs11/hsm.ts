import { Problem } from '../../domain/problem.ts'
import type { Hsm } from '../contract/hsm.ts'
import type { KeyAdministration, KeyCustody } from '../contract/key-administration.ts'
import { KeyRefusal } from '../contract/stored-keys.ts'
import { type KeyEngine, matchesKind } from '../keys/key-engine.ts'
import { orProblem, refuseUnfitKey } from '../keys/key-strength.ts'
import { type HsmOptions, openEngineHsm } from '../verbs/hsm.ts'
import type { Token } from './client.ts'
import { parseLabel, parseReference } from './objects.ts'
import { tokenKeys } from './working-keys.ts'

interface Pkcs11HsmOptions extends HsmOptions {
  readonly token: Token
}

/** The time limit of a verb, including all its requests to the token. */
const verbTimeoutMs = 5_000

/**
 * The HSM contract with keys that are in a PKCS#11 token and never leave it. PANs and PINs pass
 * through this process in clear, because PKCS#11 has no verbs for them: the token is a secure
 * device for keys, not for PINs.
 */
export async function openPkcs11Hsm({
  token,
  ...options
}: Pkcs11HsmOptions): Promise<Hsm & KeyAdministration> {
  const hsm = await openEngineHsm(openPkcs11KeyEngine(token), options, tokenCustody(token))
  const limits = Object.entries(hsm)
    .filter(([name]) => limitedNames.has(name))
    .map(([name, verb]: [string, Verb]) => [name, limited(verb)])
  // The same functions under the same names, each with a time limit.
  return { ...hsm, ...(Object.fromEntries(limits) as Hsm) }
}

/** The verbs that requests wait for. Key generation has no limit. */
const verbs = {
  generateCardNumber: true,
  generatePin: true,
  importPin: true,
  translatePin: true,
  revealPin: true,
  fingerprintPan: true,
  openPinBlock: true,
  verifyPin: true,
  verifyCvv2: true,
  generatePinBlock: true,
  generateMac: true,
  verifyMac: true,
  sealRecord: true,
  revealRecord: true,
  fingerprintRequest: true,
  fingerprintRequestId: true,
  generateTestZoneKey: true,
  importClearZoneKey: true,
  importClearMacKey: true,
  verifyCryptogram: true,
  answerCryptogram: true,
  makeCommand: true,
  makePinChange: true,
  verifyCvv: true,
  verifyDynamicCvv: true,
  verifyPan: true,
  verifyCvc3: true,
  verifyCavv: true,
  revealTrack2: true,
  generateCryptogram: true,
  openCommand: true,
  tokenSigningKeys: true,
  auditKeys: true,
  generateAuditMlDsaKey: false,
  signCheckpoint: true,
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

const limited =
  (verb: Verb): Verb =>
  async (...given) => {
    const timeOut = Promise.withResolvers<never>()
    const tooSlow = { detail: 'The token did not answer in time.' }
    const timer = setTimeout(
      () => timeOut.reject(new Problem('unavailable', tooSlow)),
      verbTimeoutMs,
    )
    try {
      return await Promise.race([verb(...given), timeOut.promise])
    } finally {
      clearTimeout(timer)
    }
  }

/** The engine for keys in a PKCS#11 token. The key store has references to them. */
export const openPkcs11KeyEngine = (token: Token): KeyEngine => ({
  async generate(kind, exportability = 'N', signal) {
    if (exportability !== 'N') throw new KeyRefusal('Keys in a token cannot be exported.')
    if (kind.algorithm === 'R') return token.generateApart(kind, signal)
    return token.ask('generate', kind)
  },
  async import(kind, key) {
    refuseUnfitKey(kind, key)
    return token.ask('import', kind, key)
  },
  async open(kind, reference) {
    const use = parseLabel(parseReference(reference))
    if (!matchesKind(kind, use, use.purpose)) throw new Error('The key has another use.')
    return tokenKeys[kind.action](token, reference, await token.ask('inspect', reference))
  },
  readKeyAttributes(reference) {
    const { algorithm, exportability, keyUsage, modeOfUse } = parseLabel(parseReference(reference))
    return { keyUsage, algorithm, modeOfUse, exportability }
  },
  random: (lengthBytes) => token.ask('random', lengthBytes),
})

/** Import of keys into a token. No key leaves it, and the token's own key wraps them. */
const tokenCustody = (token: Token): KeyCustody => ({
  importKeyBlock: (purpose, zoneMasterKey, keyBlock, keyCheckValue) =>
    orProblem(() => token.ask('importKeyBlock', purpose, zoneMasterKey, keyBlock, keyCheckValue)),
  exportKeyBlock: () =>
    orProblem(() => {
      throw new KeyRefusal('Keys in a token cannot be exported.')
    }),
  importComponent: (form, component, keyCheckValue) =>
    orProblem(() => token.ask('importComponent', form, component, keyCheckValue)),
  combineComponents: (purpose, form, components, keyCheckValue) =>
    orProblem(() => token.ask('combineComponents', purpose, form, components, keyCheckValue)),
  discardKey: (keyBlock) => token.ask('destroy', keyBlock),
  masterKeys: null,
})
