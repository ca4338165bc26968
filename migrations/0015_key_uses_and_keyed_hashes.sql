-- How often each version of a key was used: a cryptoperiod is told by it as well as by age.
alter table hsm_key add column uses bigint not null default 0 check (uses >= 0);
