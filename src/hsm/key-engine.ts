import type { StoredKey } from './key-store.ts'
import type { KeyKind } from './key-table.ts'
import type { KeyAction, WorkingKeys } from './working-key.ts'

/** A key that was made, as its store keeps it. */
export type GeneratedKey = Pick<StoredKey, 'keyBlock' | 'keyCheckValue'>

/** `E`: under a zone master key; `N`: never (X9.143, table 8). */
export type Exportability = 'E' | 'N'

/** What a kept key says of itself (X9.143, tables 5 to 8). */
export interface KeyUse {
  readonly keyUsage: string
  readonly algorithm: string
  readonly modeOfUse: string
  readonly exportability: string
}

/** Where keys are made and work: this is what implementations of the HSM differ in. */
export interface KeyEngine {
  /** Makes a key that never leaves, unless it is said to be exportable. The signal may end a slow one. */
  generate(
    kind: KeyKind,
    exportability?: Exportability,
    signal?: AbortSignal,
  ): Promise<GeneratedKey>
  /** Takes in a key that came in clear. @throws Error when it is weak or of another length. */
  import(kind: KeyKind, key: Uint8Array): Promise<GeneratedKey>
  /**
   * Opens a kept key for what its kind does.
   * @throws Error when it was not made here, is weak, or was made for another use.
   */
  open<Action extends KeyAction>(
    kind: KeyKind & { readonly action: Action },
    keyBlock: string,
  ): Promise<WorkingKeys[Action]>
  /** What a kept key says of itself. Nothing of it is verified before the key is opened. */
  usageOf(keyBlock: string): KeyUse
  /** Unpredictable bytes. */
  random(lengthBytes: number): Promise<Uint8Array> | Uint8Array
}
