import type { Hsm } from '../contract/hsm.ts'
import type { KeyAdministration } from '../contract/key-administration.ts'
import { type HsmOptions, openEngineHsm } from '../verbs/hsm.ts'
import { keyCustody } from './custody.ts'
import { openSoftwareKeyEngine } from './key-engine.ts'
import { type MasterKeys, type SecretKey, toMasterKeys } from './master-keys.ts'

interface SoftwareHsmOptions extends HsmOptions {
  /** AES-256. Every other key is a key block under it. */
  readonly masterKey: SecretKey | MasterKeys
}

/**
 * Opens the HSM contract in this process's memory. This is not a secure cryptographic device (ISO
 * 13491): an attacker who reads the memory of this process reads the keys. Do not use it for
 * production PINs.
 */
export async function openSoftwareHsm(
  options: SoftwareHsmOptions,
): Promise<Hsm & KeyAdministration> {
  const masterKeys = toMasterKeys(options.masterKey)
  const { keyStore } = options
  // A key block may be under a master key that this process does not have yet.
  const list = async () => {
    await masterKeys.refresh()
    return keyStore.list()
  }
  return openEngineHsm(
    openSoftwareKeyEngine(masterKeys),
    { ...options, keyStore: { ...keyStore, list } },
    keyCustody(masterKeys),
  )
}
