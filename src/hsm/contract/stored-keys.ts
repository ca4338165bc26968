/** A key as it is stored outside the HSM. */
export interface WrappedKey {
  /**
   * X9.143 version D, under the master key; or where the keys lie in a token, a reference to one
   * (RFC 7512).
   */
  readonly keyBlock: string
  /** In hexadecimal capitals: TDES as ANSI X9.24-1, AES as CMAC (X9.143, annex C). */
  readonly keyCheckValue: string
}

/**
 * The life of a version: every process learns of it while it is `pending`; `active` ones are in
 * use, the newest to make new things and the others to open what was made under them (NIST SP
 * 800-57 part 1, 7.2); nothing is under a `retired` one, which still opens.
 */
export type KeyState = 'pending' | 'active' | 'retired'

/** One version of one of the installation's keys. */
export interface StoredKey extends WrappedKey {
  readonly keyName: string
  readonly keyVersion: number
  readonly state: KeyState
}

/** Where an HSM stores its wrapped keys, shared by every process of an installation. */
export interface KeyStore {
  list(): Promise<readonly StoredKey[]>
  /** Stores a key, unless another process was first with this name and version. */
  add(key: StoredKey): Promise<void>
}

/** Why a key is not taken. It says nothing of the key but which rule it breaks. */
export class KeyRefusal extends Error {
  constructor(reason: string, options?: ErrorOptions) {
    super(reason, options)
    this.name = 'KeyRefusal'
  }
}
