-- Steps of an approval as acts, and as entries of the audit log.

-- name: list_approval_steps
select audit_act.act, commitment, salt, text
from audit_act
left join audit_entry on entry_id = act_id and log = any(array(select log from audit_log))
where subject_kind = 'approval' and subject = :approvalId
order by number
limit 10;
