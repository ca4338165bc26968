/** One version of a key as it is kept outside the HSM: a key block under the master key. */
export interface StoredKey {
  readonly keyName: string
  readonly keyVersion: number
  readonly state: 'pending' | 'active' | 'retired'
  /** X9.143 version D. */
  readonly keyBlock: string
  readonly keyCheckValue: string
}

/** Where an HSM keeps its wrapped keys, shared by every process of an installation. */
export interface KeyStore {
  list(): Promise<readonly StoredKey[]>
  /** Keeps a key, unless another process was first with this name and version. */
  add(key: StoredKey): Promise<void>
}
