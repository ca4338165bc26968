import type { EventType } from '../../domain/event-type.ts'

/** Columns of a card that change by some of its events alone. */
interface CardColumns {
  readonly group: string
  /** As SQL that reads the same whatever a session is set to. */
  readonly columns: readonly string[]
  readonly changedBy: readonly EventType[]
  /** A group with which they may change, too: by a re-encryption, which is no event of a card. */
  readonly alsoWith?: string
  /** Whether any act on a key may change them. */
  readonly orByKeyAct?: true
}

/** Every column of a card whose changes all have an entry (docs/audit-records.md). */
export const digestedCardColumns: readonly CardColumns[] = [
  {
    group: 'identity',
    columns: [
      ...['client_id', 'product_id', 'card_type', 'customer_reference', 'design_id'],
      ...['masked_pan', 'cvk', 'start_date', 'expiry_date'],
      "created_at at time zone 'UTC'",
    ].map((column) => `card.${column}`),
    changedBy: ['card.created'],
  },
  {
    group: 'status',
    columns: ['card.status_code'],
    changedBy: ['card.created', 'card.status_changed'],
  },
  {
    group: 'pin',
    columns: ["encode(card.pin_block, 'hex')", 'card.pvv'],
    changedBy: ['card.created', 'pin.set'],
    alsoWith: 'pin key',
  },
  {
    group: 'pin key',
    columns: ['card.pin_key'],
    changedBy: ['card.created', 'pin.set'],
    orByKeyAct: true,
  },
  ...(['pin', 'cvv'] as const).map((kind) => ({
    group: `${kind} tries`,
    columns: ['try_limit', 'epoch', 'blocked_by_client'].map((column) => `${kind}.${column}`),
    changedBy: ['card.created', `${kind}.blocked`, `${kind}.unblocked`] as const,
  })),
]

/** Rows whose changes are all numbered acts. */
interface RowColumns {
  readonly table: string
  readonly key: string
  readonly columns: readonly string[]
  /** What an act on it names. */
  readonly subjectKind: 'client' | 'product' | 'key'
  readonly subject: string
}

const utc = (column: string): string => `${column} at time zone 'UTC'`
const hex = (column: string): string => `encode(${column}, 'hex')`

/** Every column of clients, products, keys and links whose changes all have an entry. */
export const digestedRowColumns: readonly RowColumns[] = [
  {
    table: 'client',
    key: 'client_id',
    columns: [
      ...['client_name', 'kind', 'scopes', hex('secret_hash'), hex('previous_secret_hash')],
      ...[utc('previous_secret_until'), 'jwks', 'certificate_bound_tokens'],
      ...['credentials_version', 'active', utc('created_at')],
    ],
    subjectKind: 'client',
    subject: 'client_id',
  },
  {
    table: 'client_product',
    key: `client_id || ' ' || product_id`,
    columns: ['client_id', 'product_id'],
    subjectKind: 'client',
    subject: 'client_id',
  },
  {
    table: 'product',
    key: 'product_id::text',
    columns: [
      ...['product_name', 'scheme_name', 'bin', 'currency_code', 'card_types', 'validity_months'],
      ...['pin_length', 'pin_revealable', 'refuse_weak_pins', 'pin_try_limit', 'cvv_try_limit'],
      ...['cvk', 'pvk', 'active'],
    ],
    subjectKind: 'product',
    subject: 'product_id::text',
  },
  {
    table: 'hsm_key',
    key: `key_name || '/' || key_version`,
    columns: ['state', 'key_check_value', utc('created_at')],
    subjectKind: 'key',
    subject: `key_name || '/' || key_version`,
  },
  {
    table: 'zone_key',
    key: `client_id || '/' || key_name`,
    columns: [
      ...['algorithm', 'pin_block_formats', 'key_check_value'],
      ...[utc('created_at'), utc('retired_at')],
    ],
    subjectKind: 'key',
    subject: `client_id || '/' || key_name`,
  },
  {
    table: 'zone_master_key',
    key: 'key_name',
    columns: ['key_check_value', utc('created_at'), utc('retired_at')],
    subjectKind: 'key',
    subject: 'key_name',
  },
  {
    table: 'link',
    key: 'link_name',
    columns: [
      ...['network_id', 'direction', 'host', 'port', 'profile', 'tls', 'certificates', 'peers'],
      ...['zone_master_key', 'active'],
    ],
    subjectKind: 'client',
    subject: 'network_id',
  },
]

/** A digest of columns, as SQL. */
export const digestOf = (columns: readonly string[]): string =>
  `sha256(convert_to(json_build_array(${columns.join(', ')})::text, 'UTF8'))`
