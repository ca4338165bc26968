/** A key as it is stored outside the HSM. */
export interface WrappedKey {
  /** X9.143 version D, under the master key; or a reference to a key in a token (RFC 7512). */
  readonly keyBlock: string
  /** Hexadecimal capitals: TDES as in ANSI X9.24-1, AES as CMAC (X9.143, annex C). */
  readonly keyCheckValue: string
}

/**
 * The state of a version. Every process learns of it while it is `pending`. All `active` versions
 * are in use, the newest to protect new data and the others to open older data (NIST SP 800-57 part
 * 1, 7.2). No data is under a `retired` version, which can still open.
 */
export type KeyState = 'pending' | 'active' | 'retired'

/** One version of one of the installation's keys. */
export interface StoredKey extends WrappedKey {
  readonly keyName: string
  readonly keyVersion: number
  readonly state: KeyState
}

/** The store of an HSM's wrapped keys, which all processes of an installation share. */
export interface KeyStore {
  list(): Promise<readonly StoredKey[]>
  /** Stores a key, unless another process stored this name and version first. */
  add(key: StoredKey): Promise<void>
}

/** The HSM has no such version of a key: a fault of the reference, not of the HSM. */
export class UnknownKey extends Error {
  constructor() {
    super('The key is not in the HSM.')
    this.name = 'UnknownKey'
  }
}

/** Why a key is rejected. The message reveals nothing about the key except the broken rule. */
export class KeyRefusal extends Error {
  constructor(reason: string, options?: ErrorOptions) {
    super(reason, options)
    this.name = 'KeyRefusal'
  }
}
