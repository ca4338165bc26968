-- Works with programs from migration 0006 on.

-- Searches by a whole card number. What was found is on its card; what was not is on the keyed fingerprint that was looked for.
alter table audit_act drop constraint if exists audit_act_subject_kind_check;
alter table audit_act add constraint audit_act_subject_kind_check check (subject_kind in (
  'product', 'client', 'key', 'process', 'setting', 'log', 'card', 'person', 'approval', 'pan'
));
alter table refused_disclosure drop constraint if exists refused_disclosure_act_check;
alter table refused_disclosure add constraint refused_disclosure_act_check
  check (act in ('pin.revealed', 'card_data.revealed', 'cardholder.revealed', 'pan.searched'));
