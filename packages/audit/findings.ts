/**
 * What is not as it must be:
 *
 * - `checkpoint_changed`: the checkpoint is not what a key of the log signed
 * - `tile_changed`, `tile_missing`: a tile has other hashes than the signed tree, or is not there
 * - `entry_changed`, `entry_deleted`, `entry_swapped`: an entry is not the one that was signed, is
 *   gone, or stands at another's place
 * - `entry_added`: an entry stands before or behind those that were signed
 * - `opening_changed`, `opening_swapped`: what an entry is given to say is not what was entered, or
 *   is what another says
 * - `form_changed`: a line, or what an entry says, is not written in the one form that it has: a
 *   search by text may miss it
 * - `file_added`: a file or folder stands among those of the log and belongs to none of its entries
 * - `cosignature_missing`: fewer witnesses than are asked for, of those whose keys were given, have
 *   cosigned the checkpoint
 * - `opening_missing`: what an entry says is gone, and no erasure in the log covers it
 * - `erasure_unfounded`: an entry names others as erased that are not before it, or at nobody's
 *   request
 * - `tree_changed`: entries and tiles agree with each other, and not with what was signed
 * - `number_skipped`, `number_repeated`: acts on keys and of administration are not numbered
 *   without gaps
 * - `sequence_skipped`, `sequence_repeated`: a card's events are not numbered without gaps
 * - `try_skipped`, `try_repeated`: a card's tries are not numbered without gaps
 * - `two_roots`: another tree of the same size was signed
 * - `rolled_back`: a larger tree was signed than there is
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
