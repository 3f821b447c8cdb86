-- A case whose session asks for an approval ends at once.
alter table experiment_cases drop constraint experiment_cases_stop_reason_check;
alter table experiment_cases add constraint experiment_cases_stop_reason_check
  check (stop_reason in ('cancelled', 'timed_out', 'budget_reached', 'approval_required'));
