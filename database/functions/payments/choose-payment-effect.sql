-- Chooses what a message does to a payment in a state: 'none' if there is no payment.
--
-- src/domain/payment.ts has the same table and states what each effect means; a test compares every
-- cell. A clearing is final or not: clearing means that more may follow.
create or replace function choose_payment_effect(p_message text, p_state text) returns text
language sql
immutable
as $function$
select case p_message
  when 'authorization' then 'open'
  when 'increment' then
    case when p_state in ('open', 'partlyCleared') then 'raise' else 'openFlagged' end
  when 'reversal' then
    case
      when p_state = 'none' then 'remember'
      when p_state in ('open', 'partlyCleared') then 'release'
      else 'record'
    end
  when 'advice' then
    case
      when p_state = 'none' then 'openDecided'
      when p_state in ('open', 'partlyCleared') then 'replace'
      when p_state = 'cleared' then 'record'
      else 'reopen'
    end
  when 'clearing' then
    case
      when p_state = 'none' then 'force'
      when p_state in ('open', 'partlyCleared') then 'clear'
      else 'clearLate'
    end
  when 'finalClearing' then
    case
      when p_state = 'none' then 'forceFinal'
      when p_state in ('open', 'partlyCleared') then 'clearFinal'
      else 'clearLate'
    end
  when 'refund' then
    case when p_state in ('none', 'voided', 'expired') then 'credit' else 'refund' end
  when 'expiry' then
    case p_state
      when 'open' then 'expire'
      when 'partlyCleared' then 'close'
      else 'ignore'
    end
end
$function$;
