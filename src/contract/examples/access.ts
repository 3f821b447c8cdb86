import type { Examples } from './example.ts'

const budget = { scope: 'agent', scope_id: '{budgeted_agent_id}' }
const notRun = 'needs an account of the runtime'

/** Signing in, runtimes, keys, budgets and secrets. */
export const accessExamples: Examples = {
  'console.sign_in': { body: { key: '{secret_key}' } },
  'console.overview': { query: { timezone: 'Europe/Berlin' } },
  'runtime_harnesses.create': {
    body: {
      alias: 'team-opencode',
      api_spec: 'opencode',
      api_base: 'https://opencode.example.com',
      api_key: 'sk-sample-0123456789',
      display_name: 'opencode of the team',
    },
  },
  'runtime_harnesses.update': { body: { display_name: 'opencode of the team' } },
  'runtime_harnesses.test': { notRun: 'calls the server of the harness' },
  'agent_runtimes.connect': { body: { api_key: 'key_sample_0123456789' }, notRun },
  'agent_runtimes.disconnect': { notRun },
  'agent_runtimes.test': { notRun },
  'agent_runtimes.models': { notRun },
  'keys.list': { query: { owner_id: 'ana', limit: 2 } },
  'keys.create': {
    body: { label: 'Ana', owner_id: 'ana', models: ['demo'], max_budget: 5, budget_duration: '30d', rpm_limit: 60 },
  },
  'keys.update': { body: { max_budget: 10 } },
  'keys.rotate': { body: { grace: '1h' } },
  'console.act_as': { body: { team_id: '{team_id}' }, notRun: 'needs a person who signed in with single sign-on' },
  'console.begin_sso': { notRun: 'calls the identity provider' },
  'console.sso_callback': {
    query: { state: 'n3Vw0sQ4', code: 'SplxlOBeZQQYbYS6WxSbIA' },
    notRun: 'needs a sign-in at the identity provider',
  },
  'users.list': { query: { q: 'build' } },
  'users.create': { body: { name: 'Nightly build', kind: 'service_account' } },
  'users.update': { body: { role: 'viewer' } },
  'teams.create': { body: { name: 'Data', models: ['demo'] } },
  'teams.update': { body: { models: ['demo'] } },
  'teams.members': { params: { team_id: '{member_team_id}' } },
  'teams.add_member': { params: { team_id: '{team_id}', user_id: '{user_id}' } },
  'teams.remove_member': { params: { team_id: '{member_team_id}', user_id: '{member_id}' } },
  'budgets.list': { query: { scope: 'agent' } },
  'budgets.get': { params: budget },
  'budgets.set': {
    params: { scope: 'agent', scope_id: '{agent_id}' },
    body: { max_budget: 5, budget_duration: '30d' },
  },
  'budgets.remove': { params: budget },
  'vault.set': { body: { key: 'GITHUB_TOKEN', value: 'ghp_sample_0123456789', scope: 'global' } },
  'vault.get': { params: { key: '{vault_key}' } },
  'vault.remove': { params: { key: '{vault_key}' } },
}
