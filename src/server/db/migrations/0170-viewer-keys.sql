-- Keys of viewers.
alter table api_keys drop constraint api_keys_role_check;
alter table api_keys add constraint api_keys_role_check check (role in ('user', 'admin', 'viewer'));
