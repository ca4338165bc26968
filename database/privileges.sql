-- The privileges of the service's role if another role owns the schema (MIGRATION_DATABASE_URL).
--
-- The owner runs this file with each migration, in the same transaction. By hand:
--   psql --single-transaction --set schema=public --set service=ROLE --file database/privileges.sql
--
-- The service reads every table. Tries, limits, idempotency keys, events, authorizations, payments
-- and the audit log are in no grant below: the service writes them by functions, which run as the
-- owner.

revoke all on all tables in schema :"schema" from :"service";
grant usage on schema :"schema" to :"service";
grant select on all tables in schema :"schema" to :"service";
-- Slices of events are made later.
alter default privileges in schema :"schema" grant select on tables to :"service";

-- The installation and its processes.
grant insert, update on installation, sandbox_secret, virtual_chip to :"service";
grant insert, update, delete on lease to :"service";

-- Clients and products.
grant insert, update on client, product to :"service";
grant insert on product_controls to :"service";
grant insert, update, delete on client_provenance, client_product to :"service";
grant insert, delete on client_assertion to :"service";

-- Keys.
grant insert, update on hsm_key_number, re_encryption, zone_key, zone_master_key to :"service";
grant insert, update, delete on hsm_key, component_entry, key_component to :"service";

-- Cards: the columns that a re-encryption replaces, and sealed PINs that have expired.
grant update (encrypted_pan, personal_data, pin_block, pin_key) on card to :"service";
grant update (pin_block, pin_key) on chip_command to :"service";
grant update (free_texts) on plastic to :"service";
grant insert, delete on pan_fingerprint to :"service";
grant delete on pin_envelope to :"service";

-- Charts of authorizations.
grant insert, update, delete on authorization_count, authorization_hour_count to :"service";

-- Streams and deliveries.
grant insert, update, delete on
  client_stream,
  webhook,
  webhook_former_secret,
  delivery,
  delivery_group,
  delivery_queue
to :"service";

-- Decision endpoints. Versions never change; a re-encryption replaces sealed keys.
grant insert on decision_endpoint to :"service";
grant insert, update on decision_endpoint_state to :"service";
grant insert, delete on decision_signing_key to :"service";
grant update (sealed_keys, signs_until) on decision_signing_key to :"service";

-- Which stream of its client takes a request. The rest of a decision is written by functions.
grant update (taken_by) on decision to :"service";

-- Links.
grant insert, update on link to :"service";
grant insert, update, delete on link_process, link_session, network_transaction to :"service";
grant insert, delete on network_advice to :"service";

-- Checks against the audit log, whose results are signed, and erasures, each of which an act in the
-- log must name.
grant update on audit_check to :"service";
grant insert, update, delete on card_digest, row_digest to :"service";
grant insert, update on audit_erasure to :"service";

-- Jobs of renewals. Each order is an act of its own.
grant insert, update, delete on renewal_job, renewal_job_card to :"service";

-- People and approvals.
grant insert, update on person to :"service";
grant insert, update, delete on console_session, approval to :"service";

-- Functions run as the owner, and search the schema only: a temporary table of the caller is found
-- last.
select set_config('pinfold.service', :'service', true);

do $grants$
declare
  -- Parts of other functions. Only functions call them, and so only the owner.
  v_parts constant text[] := array[
    'add_seen_atc',
    'advance_chip',
    'apply_approval',
    'apply_controls',
    'cancel_orders',
    'carry_controls',
    'carry_tries',
    'choose_payment_effect',
    'compute_increment',
    'count_mistake',
    'derive_open_amount',
    'derive_payment_state',
    'describe_payment_change',
    'end_waiting_plastic',
    'expire_card',
    'find_partial_approval',
    'find_payment_to_change',
    'find_card_of_decision',
    'find_card_of_payment',
    'find_current_card',
    'find_first_spending',
    'find_objecting_control',
    'finish_activation',
    'has_card_use',
    'has_declined_request',
    'has_early_reversal',
    'hold_payment',
    'is_changeable',
    'is_chip_of_other_plastic',
    'is_claim_taken',
    'is_decision_reversed',
    'is_idempotency_key_known',
    'is_off_list',
    'is_payment_opened_since',
    'is_payment_over_since',
    'is_transaction_reversed',
    'list_snapshot_tables',
    'lock_card',
    'lock_chip',
    'lock_line',
    'lock_line_of_message',
    'lock_stripe',
    'make_plastic_current',
    'may_have_plastics',
    'move_payment_spending',
    'move_spending',
    'next_decision_sequence',
    'next_uses',
    'now_microseconds',
    'queue_chip_command',
    'raise_payment',
    'record_event',
    'record_increment',
    'release_merchant_lock',
    'reserve_decision',
    'reserve_spending',
    'retire_card',
    'settle_try',
    'store_claimed_answer',
    'supersede_commands_of_closed',
    'supersede_pin_commands',
    'undo_act',
    'use_chip',
    'use_stripe'
  ];
  v_function record;
begin
  for v_function in
    select pg_proc.oid::regprocedure as signature, proname = any (v_parts) as is_part
    from installed_function
    join pg_proc
      on proname = replace(regexp_replace(file_name, '^.*/|\.sql$', '', 'g'), '-', '_')
        and pronamespace = current_schema()::regnamespace
  loop
    execute format('revoke execute on function %s from public', v_function.signature);
    if not v_function.is_part then
      execute format(
        'alter function %s security definer set search_path = %I, pg_temp',
        v_function.signature, current_schema()
      );
      execute format(
        'grant execute on function %s to %I',
        v_function.signature, current_setting('pinfold.service')
      );
    end if;
  end loop;
end
$grants$;
