/**
 * The kinds of findings:
 *
 * - `checkpoint_changed`: the checkpoint differs from the one that a key of the log signed
 * - `tile_changed`, `tile_missing`: a tile differs from the signed tree, or is missing
 * - `entry_changed`, `entry_deleted`, `entry_swapped`: an entry differs from the signed one, is
 *   missing, or is in another entry's position
 * - `entry_added`: an entry is before or after the signed ones
 * - `opening_changed`, `opening_swapped`: an entry's text differs from the entered one, or belongs
 *   to another entry
 * - `form_changed`: a line or an entry's text is not in canonical form, so that a text search may
 *   miss it
 * - `file_added`: a file or folder belongs to no entry of the log
 * - `cosignature_missing`: too few witnesses with a given key have cosigned the checkpoint
 * - `opening_missing`: an entry's text is missing, and no erasure in the log justifies it
 * - `erasure_unfounded`: an entry lists erased entries that are not before it, or has no request
 * - `tree_changed`: entries and tiles match each other, but not the signed root
 * - `number_skipped`, `number_repeated`: a gap or repeat in the numbers of acts on keys and of
 *   administration
 * - `sequence_skipped`, `sequence_repeated`: a gap or repeat in the numbers of a card's events
 * - `try_skipped`, `try_repeated`: a gap or repeat in the numbers of a card's tries
 * - `two_roots`: another tree of the same size was signed
 * - `rolled_back`: a larger tree was signed than the present one
 */
export type FindingCode =
  | 'checkpoint_changed'
  | 'tile_changed'
  | 'tile_missing'
  | 'entry_changed'
  | 'entry_deleted'
  | 'entry_swapped'
  | 'entry_added'
  | 'opening_changed'
  | 'opening_swapped'
  | 'form_changed'
  | 'file_added'
  | 'cosignature_missing'
  | 'opening_missing'
  | 'erasure_unfounded'
  | 'tree_changed'
  | 'number_skipped'
  | 'number_repeated'
  | 'sequence_skipped'
  | 'sequence_repeated'
  | 'try_skipped'
  | 'try_repeated'
  | 'two_roots'
  | 'rolled_back'

export interface Finding {
  readonly code: FindingCode
  /** The log of the finding. */
  readonly origin: string
  /** The file, the entry or the card. */
  readonly where: string
  readonly detail: string
}

/** Receives a finding. */
export type Report = (code: FindingCode, where: string, detail: string) => void
