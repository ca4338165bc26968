import type { EventType } from '../../domain/event-type.ts'

/** Columns of a card that only some of its events change. */
interface CardColumns {
  readonly group: string
  readonly changedBy: readonly EventType[]
  /**
   * Another group whose change may change these columns, too: by a re-encryption, which is no event
   * of a card.
   */
  readonly alsoWith?: string
  /** Whether any act on a key may change them. */
  readonly orByKeyAct?: true
}

/**
 * The groups of columns of a card, in the order of their digests in `list_digested_cards`
 * (docs/reference/audit-records.md).
 */
export const digestedCardColumns: readonly CardColumns[] = [
  {
    group: 'identity',
    changedBy: ['card.created'],
  },
  {
    group: 'record',
    changedBy: ['card.created', 'card.changed'],
  },
  {
    group: 'plastic',
    changedBy: [
      'card.created',
      'card.renewal_ordered',
      'card.renewed',
      'card.renewal_cancelled',
      'card.converted',
      'card.activated',
    ],
  },
  {
    group: 'status',
    changedBy: ['card.created', 'card.status_changed', 'card.renewed', 'card.retired'],
  },
  {
    group: 'pin',
    changedBy: ['card.created', 'pin.set', 'card.activated'],
    alsoWith: 'pin key',
  },
  {
    group: 'pin key',
    changedBy: ['card.created', 'pin.set', 'card.activated'],
    orByKeyAct: true,
  },
  {
    group: 'pin tries',
    changedBy: ['card.created', 'pin.blocked', 'pin.unblocked', 'card.activated', 'card.retired'],
  },
  {
    group: 'cvv tries',
    changedBy: ['card.created', 'cvv.blocked', 'cvv.unblocked'],
  },
  {
    group: 'controls',
    changedBy: ['card.created', 'card.controls_changed'],
  },
]

/**
 * Tables whose rows change only by numbered acts, with the kind of subject of an act on a row.
 * Their columns are in `list_digested_rows_of_…`.
 */
export const digestedTables = [
  { table: 'client', subjectKind: 'client' },
  { table: 'client_product', subjectKind: 'client' },
  { table: 'product', subjectKind: 'product' },
  { table: 'hsm_key', subjectKind: 'key' },
  { table: 'zone_key', subjectKind: 'key' },
  { table: 'zone_master_key', subjectKind: 'key' },
  { table: 'link', subjectKind: 'client' },
] as const

export type DigestedTable = (typeof digestedTables)[number]['table']
