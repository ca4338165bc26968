/**
 * Tables that are distributed over the nodes by one column. Rows with equal values are on the same
 * node, whatever their table.
 */
interface SpreadTables {
  readonly column: string
  /** Referenced tables come first. */
  readonly tables: readonly string[]
}

/**
 * The distributed tables by distribution column: rows of a card by its token, rows that a client
 * reads in order by the client, and unique values by themselves. A unique key of a distributed
 * table must contain the column.
 */
const spread: readonly SpreadTables[] = [
  {
    column: 'public_token',
    tables: [
      'card',
      'plastic',
      'card_line',
      'card_metadata',
      'renewal_job_card',
      'try_counter',
      'authorization_request',
      'card_mistake',
      'chip',
      'stripe_counter',
      'chip_command',
      'virtual_chip',
      'payment',
      'payment_message',
      'decision',
      'pin_envelope',
      'card_limit',
      'card_controls',
      'card_spending',
      'event',
      'card_digest',
    ],
  },
  {
    column: 'client_id',
    tables: [
      'feed_head',
      'published_event',
      'audit_feed',
      'client_stream',
      'webhook',
      'webhook_former_secret',
      'delivery',
      'delivery_group',
      'delivery_queue',
      'client_limit',
      'client_product',
    ],
  },
  { column: 'pan_fingerprint', tables: ['pan_fingerprint'] },
  { column: 'key_hash', tables: ['idempotency_record'] },
  { column: 'jti_hash', tables: ['client_assertion'] },
  { column: 'transaction_hash', tables: ['network_transaction'] },
  { column: 'advice_hash', tables: ['network_advice'] },
]

/**
 * Small tables that are read together with distributed ones, or have foreign keys to each other:
 * each node has all rows. Referenced tables come first.
 */
const copied: readonly string[] = [
  'client',
  'client_provenance',
  'product',
  'product_controls',
  'zone_key',
  'hsm_key',
  'hsm_key_number',
  're_encryption',
  'zone_master_key',
  'component_entry',
  'key_component',
  'link',
  'link_session',
  'link_process',
  'decision_endpoint',
  'decision_endpoint_state',
  'decision_signing_key',
]

/** Tables that are never joined to others: on the coordinator only. */
const coordinator: readonly string[] = [
  'migration',
  'installed_function',
  'installation',
  'lease',
  'sandbox_secret',
  'sandbox_snapshot',
  'sandbox_snapshot_table',
  'sandbox_snapshot_row',
  'audit_act',
  'audit_log',
  'audit_entry',
  'audit_tile',
  'audit_checkpoint',
  'audit_act_number',
  'audit_entered',
  'refused_disclosure',
  'audit_erasure',
  'row_digest',
  'audit_check',
  'person',
  'console_session',
  'approval',
  'authorization_count',
  'authorization_hour_count',
  'bureau_batch',
  'renewal_job',
]

/** The placement of every table on a cluster. */
export const placement = { spread, copied, coordinator } as const
