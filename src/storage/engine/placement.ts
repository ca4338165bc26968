/**
 * Tables whose rows lie on the nodes by one column: equal ones together, whichever of the tables
 * they are in.
 */
interface SpreadTables {
  readonly column: string
  /** Those that others refer to come first. */
  readonly tables: readonly string[]
}

/**
 * By what rows are spread: what a card has by its token, what a client reads in order by the
 * client, and by itself what only has to be unique. A unique key of a spread table contains the
 * column, which is how the nodes keep it.
 */
const spread: readonly SpreadTables[] = [
  {
    column: 'public_token',
    tables: [
      'card',
      'try_counter',
      'authorization_request',
      'wrong_expiry',
      'pin_envelope',
      'card_limit',
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
      'event_stream',
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
 * Small tables that are read beside spread ones, or refer to each other: whole on each node.
 * Referred ones first.
 */
const copied: readonly string[] = [
  'client',
  'client_provenance',
  'product',
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
]

/** What is never read beside others: on the coordinator alone. */
const coordinator: readonly string[] = [
  'migration',
  'installed_function',
  'installation',
  'lease',
  'sandbox_secret',
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
]

/** Where each table lies on a cluster, all of them. */
export const placement = { spread, copied, coordinator } as const
