import type { CardReference, PanFingerprint, StoredPin } from './card.ts'
import type { BlockCipher, MacUsage } from './catalogue.ts'
import type { RecordPurpose } from './hsm.ts'
import type { WrappedKey } from './stored-keys.ts'

/** What a key is to become, and so what it may be used for. */
export type KeyPurpose =
  /** One of the installation's own keys, by its name in the catalogue. */
  | { readonly family: 'installation'; readonly keyName: string }
  /** A network's key for PIN blocks, or for MACs of one kind. */
  | { readonly family: 'zone'; readonly macUsage?: MacUsage }
  /** A key that other keys are transported under. */
  | { readonly family: 'zone-master' }

/** A key's algorithm and length, where its purpose leaves a choice. */
export interface KeyForm {
  readonly algorithm: BlockCipher
  readonly lengthBytes: number
}

/** What a wrapped key says of itself (X9.143, tables 5 to 8). */
export interface KeyAttributes {
  readonly keyUsage: string
  readonly algorithm: string
  readonly modeOfUse: string
  readonly exportability: string
}

/** How a check value is made of a key. */
export type KeyCheckMethod = 'X9.24 zeros' | 'CMAC' | 'HMAC' | 'SPKI SHA-256'

export interface KeyDescription extends KeyAttributes {
  readonly checkMethod: KeyCheckMethod
}

/** How often a version of a key was used by this process. */
export interface KeyUses {
  readonly keyName: string
  readonly keyVersion: number
  readonly uses: number
}

/**
 * What administration asks of an HSM. No verb takes or gives a clear key but `importComponent`,
 * which takes one component of one. Each throws `Problem` `key_refused` for a key that may not be
 * taken, and otherwise what the verbs of `Hsm` throw.
 */
export interface KeyAdministration {
  /** How often this process has used each version since it opened the HSM. */
  countedUses(): readonly KeyUses[]
  /** Reads the keys again, as another process may have left them. */
  refreshKeys(): Promise<void>
  describeKey(keyBlock: string): KeyDescription
  /** Draws a key. Without a form, the one that the purpose asks for. */
  generateKey(purpose: KeyPurpose, form: KeyForm | null, exportable: boolean): Promise<WrappedKey>

  /** The version that sealed bytes are under: a PAN's, or a record's. */
  readSealedVersion(sealed: Uint8Array): number
  /** The same PAN under the active key. */
  rewrapPan(card: CardReference): Promise<Uint8Array>
  /** The same PIN under the active key. */
  rewrapPin(
    card: CardReference,
    pin: { readonly pinBlock: Uint8Array; readonly pinKey: string },
  ): Promise<Extract<StoredPin, { pvv: null }>>
  /** The same text under the active key. */
  rewrapRecord(purpose: RecordPurpose, subject: string, sealed: Uint8Array): Promise<Uint8Array>
  /** What a card is found by, under every version that is not retired. */
  panFingerprints(card: CardReference): Promise<readonly PanFingerprint[]>

  /** @throws `Problem` `key_refused` when no key of this purpose has this form. */
  refuseOtherForm(purpose: KeyPurpose, form: KeyForm): Promise<void>

  readonly custody: KeyCustody
}

/** Keys that come and go. */
export interface KeyCustody {
  /**
   * Takes in a key block, version B or D, under a zone master key.
   * @throws `Problem` `key_refused` when it is not what it should be.
   */
  importKeyBlock(
    purpose: KeyPurpose,
    zoneMasterKeyBlock: string,
    keyBlock: string,
    keyCheckValue: string | null,
  ): Promise<WrappedKey>
  /**
   * A wrapped key under a zone master key.
   * @throws `Problem` `key_refused` unless it is exportable, and where the HSM lets none out.
   */
  exportKeyBlock(keyBlock: string, zoneMasterKeyBlock: string): Promise<string>
  /** Takes in one component, in hexadecimal. */
  importComponent(form: KeyForm, component: string, keyCheckValue: string): Promise<WrappedKey>
  /** The key that wrapped components make (PCI PIN Security 3.1, requirement 12). */
  combineComponents(
    purpose: KeyPurpose,
    form: KeyForm,
    componentBlocks: readonly string[],
    keyCheckValue: string,
  ): Promise<WrappedKey>

  /**
   * Destroys a key that was made and then not stored. Null where a key is its key block, and goes
   * with it.
   */
  readonly discardKey: ((keyBlock: string) => Promise<void>) | null

  /** Null where keys lie in the HSM itself, under none of our master keys. */
  readonly masterKeys: MasterKeyCustody | null
}

/** The key that all others are wrapped under. */
export interface MasterKeyCustody {
  /** Of the one that key blocks are made under. */
  checkValue(): string
  /**
   * Check values of those at hand: the current one, and all, read from their file again.
   * @throws `Problem` `key_refused` when the file lacks the current one or is not what it should
   *   be.
   */
  read(): Promise<{ readonly current: string; readonly present: readonly string[] }>
  /**
   * The same wrapped key under another master key at hand, labelled with its purpose.
   * @throws `Problem` `key_refused` when its label names another.
   */
  rewrap(keyBlock: string, purpose: string, checkValue: string): Promise<string>
}
