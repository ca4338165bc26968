-- Works with programs from migration 0006 on.

-- The steps of an approval, which are read before it is carried out.
create index audit_act_of_approval on audit_act (subject, number) where subject_kind = 'approval';
