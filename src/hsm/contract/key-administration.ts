import type { CardReference, PanFingerprint, StoredPin } from './card.ts'
import type { BlockCipher, MacUsage } from './catalogue.ts'
import type { RecordPurpose } from './hsm.ts'
import type { WrappedKey } from './stored-keys.ts'

/** The purpose of a new key, which decides its allowed use. */
export type KeyPurpose =
  /** One of the installation's own keys, by its name in the catalogue. */
  | { readonly family: 'installation'; readonly keyName: string }
  /** A network's key for PIN blocks, or for MACs of one kind. */
  | { readonly family: 'zone'; readonly macUsage?: MacUsage }
  /** A key that encrypts other keys for transport. */
  | { readonly family: 'zone-master' }

/** A key's algorithm and length, if its purpose allows a choice. */
export interface KeyForm {
  readonly algorithm: BlockCipher
  readonly lengthBytes: number
}

/** The attributes of a wrapped key (X9.143, tables 5 to 8). */
export interface KeyAttributes {
  readonly keyUsage: string
  readonly algorithm: string
  readonly modeOfUse: string
  readonly exportability: string
}

/** The method of a key check value. */
export type KeyCheckMethod = 'X9.24 zeros' | 'CMAC' | 'HMAC' | 'SPKI SHA-256'

export interface KeyDescription extends KeyAttributes {
  readonly checkMethod: KeyCheckMethod
}

/** How often this process used a version of a key. */
export interface KeyUses {
  readonly keyName: string
  readonly keyVersion: number
  readonly uses: number
}

/**
 * Key administration of an HSM. No verb accepts or returns a clear key, except `importComponent`,
 * which accepts one component. Each verb throws `Problem` `key_refused` for an unacceptable key,
 * and otherwise the errors of the verbs of `Hsm`.
 */
export interface KeyAdministration {
  /** Counts this process's uses of each version since it opened the HSM. */
  countedUses(): readonly KeyUses[]
  /** Reads the keys again, because another process may have changed them. */
  refreshKeys(): Promise<void>
  describeKey(keyBlock: string): KeyDescription
  /** Generates a key. The default form is that of the purpose. */
  generateKey(purpose: KeyPurpose, form: KeyForm | null, exportable: boolean): Promise<WrappedKey>

  /** Reads the key version of sealed bytes: of a PAN, or of a record. */
  readSealedVersion(sealed: Uint8Array): number
  /** Encrypts the same PAN under the active key. */
  rewrapPan(card: CardReference): Promise<Uint8Array>
  /** Encrypts the same PIN under the active key. */
  rewrapPin(
    card: CardReference,
    pin: { readonly pinBlock: Uint8Array; readonly pinKey: string },
  ): Promise<Extract<StoredPin, { pvv: null }>>
  /** Encrypts the same text under the active key. */
  rewrapRecord(purpose: RecordPurpose, subject: string, sealed: Uint8Array): Promise<Uint8Array>
  /** Computes the fingerprints of a card under every version that is not retired. */
  panFingerprints(card: CardReference): Promise<readonly PanFingerprint[]>

  /** @throws `Problem` `key_refused` if no key of this purpose has this form. */
  refuseOtherForm(purpose: KeyPurpose, form: KeyForm): Promise<void>

  readonly custody: KeyCustody
}

/** Import and export of keys. */
export interface KeyCustody {
  /**
   * Imports a key block, version B or D, under a zone master key.
   * @throws `Problem` `key_refused` if the block is invalid or has another purpose.
   */
  importKeyBlock(
    purpose: KeyPurpose,
    zoneMasterKeyBlock: string,
    keyBlock: string,
    keyCheckValue: string | null,
  ): Promise<WrappedKey>
  /**
   * Exports a wrapped key under a zone master key.
   * @param reference the name and version of the key, for the refusal.
   * @throws `Problem` `key_refused` unless it is exportable, and if the HSM exports no keys.
   */
  exportKeyBlock(reference: string, keyBlock: string, zoneMasterKeyBlock: string): Promise<string>
  /** Imports one component, in hexadecimal. */
  importComponent(form: KeyForm, component: string, keyCheckValue: string): Promise<WrappedKey>
  /** Combines wrapped components into a key (PCI PIN Security 3.1, requirement 12). */
  combineComponents(
    purpose: KeyPurpose,
    form: KeyForm,
    componentBlocks: readonly string[],
    keyCheckValue: string,
  ): Promise<WrappedKey>

  /** Destroys a generated key that was not stored. Null if a key consists of its key block only. */
  readonly discardKey: ((keyBlock: string) => Promise<void>) | null

  /** Null if the keys are inside the HSM, without a master key of this service. */
  readonly masterKeys: MasterKeyCustody | null
}

/** The key that wraps all other keys. */
export interface MasterKeyCustody {
  /** The check value of the current master key. */
  checkValue(): string
  /**
   * Reads the check values of the current master key and of all in the file.
   * @throws `Problem` `key_refused` if the file is invalid or lacks the current key.
   */
  read(): Promise<{ readonly current: string; readonly present: readonly string[] }>
  /**
   * Wraps the same key under another available master key, with its purpose as the label.
   * @throws `Problem` `key_refused` if the label names another purpose.
   */
  rewrap(keyBlock: string, purpose: string, checkValue: string): Promise<string>
}
