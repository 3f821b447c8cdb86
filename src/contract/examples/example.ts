/**
 * Request of an operation as the API reference shows it. A text that is a name in braces, such as `{agent_id}`, stands for the id of
 * an object: the tests create one, the reference shows a sample. Path parameters are such placeholders unless given here.
 */
export interface Example {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
  /** Why the tests do not send the request. The response has no example then. */
  readonly notRun?: string
}

/** Examples by the id of their operation. */
export type Examples = Readonly<Record<string, Example>>

/** Returns a copy of `value` in which `idOf` has replaced each placeholder. */
export function filled(value: unknown, idOf: (placeholder: string) => string): unknown {
  if (typeof value === 'string') return value.replace(/^\{(\w+)\}$/, (_, name: string) => idOf(name))
  if (Array.isArray(value)) return value.map(item => filled(item, idOf))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, filled(member, idOf)]))
}

/** Samples of placeholders that are not the name of an object with `_id`. */
const samples: Readonly<Record<string, string>> = {
  a2a_agent_id: 'agent_4f9a2c7d10',
  a2a_asking_task_id: 'msg_4f9a2c7d10',
  a2a_push_config_id: 'mine',
  a2a_task_id: 'msg_4f9a2c7d10',
  alias: 'team-opencode',
  approval_id: 'evt_4f9a2c7d10',
  background_response_id: 'response_4f9a2c7d10',
  batch_file_id: 'file_4f9a2c7d10',
  base_experiment_id: 'exp_3d8b1c6e0f',
  budgeted_agent_id: 'agent_4f9a2c7d10',
  careful_session_id: 'ses_4f9a2c7d10',
  key: 'GITHUB_TOKEN',
  deployment_id: 'depl_4f9a2c7d10',
  deployment_run_id: 'drun_4f9a2c7d10',
  dataset_id: 'dset_4f9a2c7d10',
  experiment_id: 'exp_4f9a2c7d10',
  memory_version_id: 'memver_4f9a2c7d10',
  managed_agent_id: 'agent_4f9a2c7d10',
  member_id: 'user_4f9a2c7d10',
  member_team_id: 'team_4f9a2c7d10',
  message_batch_id: 'msgbatch_4f9a2c7d10',
  message_id: 'msg_4f9a2c7d10',
  model: 'demo',
  model_id: 'demo',
  model_setting_id: 'model_4f9a2c7d10',
  name: 'demo',
  path: 'notes.txt',
  provider_id: 'openrouter',
  runtime_id: 'cursor',
  scope: 'agent',
  resource_id: 'sesrsc_4f9a2c7d10',
  secret_key: 'sk-sample-0123456789',
  session_id: 'ses_4f9a2c7d10',
  stocked_session_id: 'ses_4f9a2c7d10',
  stored_file_id: 'file_4f9a2c7d10',
  stored_memory_id: 'mem_4f9a2c7d10',
  thread_id: 'ses_4f9a2c7d10',
  vault_key: 'OLD_TOKEN',
  version: '1',
  waiting_prompt_id: 'prompt_4f9a2c7d10',
  webhook_delivery_id: 'delivery_4f9a2c7d10',
}

/** Returns the id that the API reference shows for a placeholder. */
export const sampleId = (name: string): string => samples[name] ?? `${name.replace(/_id$/, '')}_4f9a2c7d10`
