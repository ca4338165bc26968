-- Works with programs from migration 0006 on.

-- Who was shown what, the newest first: of all, of a card, of a client. Few entries are disclosures, and the others are in
-- none of these.
create index audit_entry_disclosure on audit_entry (log, entry_index)
  where act in ('pin.revealed', 'card_data.revealed', 'cardholder.revealed');
create index audit_entry_disclosure_of_card on audit_entry (public_token, log, entry_index)
  where act in ('pin.revealed', 'card_data.revealed', 'cardholder.revealed');
create index audit_entry_disclosure_of_client on audit_entry (client_id, log, entry_index)
  where act in ('pin.revealed', 'card_data.revealed', 'cardholder.revealed');
