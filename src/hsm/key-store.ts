/**
 * The life of a version: every process learns of it while it is `pending`; `active` ones are in use,
 * the newest to make new things and the others to open what was made under them (NIST SP 800-57 part
 * 1, 7.2); nothing is under a `retired` one, which still opens.
 */
export type KeyState = 'pending' | 'active' | 'retired'

/** One version of a key as it is kept outside the HSM: a key block under the master key. */
export interface StoredKey {
  readonly keyName: string
  readonly keyVersion: number
  readonly state: KeyState
  /** X9.143 version D; or where the keys lie in a token, a reference to one (RFC 7512). */
  readonly keyBlock: string
  readonly keyCheckValue: string
}

/** Where an HSM keeps its wrapped keys, shared by every process of an installation. */
export interface KeyStore {
  list(): Promise<readonly StoredKey[]>
  /** Keeps a key, unless another process was first with this name and version. */
  add(key: StoredKey): Promise<void>
}
