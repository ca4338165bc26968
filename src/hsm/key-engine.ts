import type { StoredKey } from './key-store.ts'
import type { KeyKind } from './key-table.ts'
import type { KeyAction, WorkingKeys } from './working-key.ts'

/** A key that was made, as its store keeps it. */
export type GeneratedKey = Pick<StoredKey, 'keyBlock' | 'keyCheckValue'>

/** Where keys are made and work: this is what implementations of the HSM differ in. */
export interface KeyEngine {
  generate(kind: KeyKind): Promise<GeneratedKey>
  /**
   * Opens a kept key for what its kind does.
   * @throws Error when it was not made here, or was made for another use.
   */
  open<Action extends KeyAction>(
    kind: KeyKind & { readonly action: Action },
    keyBlock: string,
  ): Promise<WorkingKeys[Action]>
}
