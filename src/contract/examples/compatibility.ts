import type { Examples } from './example.ts'

const pending = { session_id: '{careful_session_id}', permission_id: '{approval_id}' }

const a2aMessage = {
  message: { messageId: 'note-1', role: 'ROLE_USER', parts: [{ text: 'Say hello.' }] },
}
const storedMemory = { memory_store_id: '{memory_store_id}', memory_id: '{stored_memory_id}' }
const memoryVersion = { memory_store_id: '{memory_store_id}', memory_version_id: '{memory_version_id}' }
const deployment = {
  name: 'Morning report',
  agent: '{managed_agent_id}',
  environment_id: '{environment_id}',
  initial_events: [{ type: 'user.message', content: [{ type: 'text', text: 'Write the report.' }] }],
  schedule: { type: 'cron', expression: '30 9 * * MON-FRI', timezone: 'Europe/Berlin' },
}
const served = { agent: '{a2a_agent_id}' }
const task = { ...served, task_id: '{a2a_task_id}' }
const pushConfig = { ...task, config_id: '{a2a_push_config_id}' }
const version = { 'A2A-Version': '1.0' }

/** The APIs of Managed Agents, of opencode's clients, of A2A and of AG-UI. */
export const compatibilityExamples: Examples = {
  'a2a.card': { params: served },
  'a2a.rpc': {
    params: served,
    query: version,
    body: { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: a2aMessage },
  },
  'a2a.send': { params: served, query: version, body: a2aMessage },
  'a2a.stream': { params: served, query: version, body: a2aMessage },
  'a2a.list': { params: served, query: version },
  'a2a.get': { params: task, query: version },
  'a2a.cancel': { params: { ...served, task_id: '{a2a_asking_task_id}' }, query: version, body: {} },
  'a2a.subscribe': { params: { ...served, task_id: '{a2a_asking_task_id}' }, query: version },
  'a2a.subscribe_by_get': { params: { ...served, task_id: '{a2a_asking_task_id}' }, query: version },
  'a2a.create_push': {
    params: task,
    query: version,
    body: {
      id: 'mine',
      url: 'https://agent.example.com/push',
      token: 'known-to-both',
      authentication: { scheme: 'Bearer', credentials: 'secret-of-the-receiver' },
    },
  },
  'a2a.list_push': { params: task, query: version },
  'a2a.get_push': { params: pushConfig, query: version },
  'a2a.remove_push': { params: pushConfig, query: version },
  'a2a.extended_card': { params: served, query: version, notRun: 'not supported: answers 400' },
  'ag_ui.run': {
    params: { agent: '{agent_id}' },
    body: {
      threadId: 'thread-1',
      runId: 'run-1',
      messages: [{ id: 'message-1', role: 'user', content: 'Say hello.' }],
      tools: [],
      context: [],
    },
  },
  'opencode.reply': { params: { request_id: '{approval_id}' }, body: { reply: 'once' } },
  'opencode.answer': { params: pending, body: { response: 'once' } },
  'opencode.log': { body: { service: 'tui', level: 'info', message: 'started' } },
  'session_threads.archive': { notRun: 'needs the thread of a called agent' },
  'managed_agents.create': { body: { name: 'Scribe', model: 'demo', system: 'Write short notes.' } },
  'managed_agents.update': { body: { system: 'Write short notes in English.' } },
  'environments.create': {
    body: { name: 'Node', config: { type: 'cloud', networking: { type: 'unrestricted' } } },
  },
  'environments.update': { body: { description: 'For web projects' } },
  'dialect_sessions.create': {
    body: { agent: '{agent_id}', environment_id: '{environment_id}', title: 'invoice' },
  },
  'dialect_sessions.update': { body: { metadata: { team: 'blue' } } },
  'dialect_sessions.resource': { params: { session_id: '{stocked_session_id}', resource_id: '{resource_id}' } },
  'managed_vaults.create': { body: { display_name: 'Ada', metadata: { team: 'red' } } },
  'managed_vaults.update': { body: { display_name: 'Ada L.' } },
  'vault_credentials.create': {
    body: {
      display_name: 'Wiki',
      auth: { type: 'static_bearer', mcp_server_url: 'https://docs.example.com/mcp', token: 'sample-0123456789' },
    },
  },
  'vault_credentials.update': { body: { auth: { type: 'static_bearer', token: 'sample-9876543210' } } },
  'managed_deployments.create': { body: deployment },
  'managed_deployments.list': { query: { status: 'active', limit: 2 } },
  'managed_deployments.update': { body: { description: 'Every working day' } },
  'deployment_runs.list': { query: { has_error: false, limit: 2 } },
  'memory_stores.create': { body: { name: 'Team style', description: 'How the team writes' } },
  'memory_stores.update': { body: { description: 'How we write' } },
  'memory_stores.create_memory': { body: { path: '/tone.md', content: 'Be kind.' }, query: { view: 'full' } },
  'memory_stores.memories': { query: { path_prefix: '/notes/', view: 'full' } },
  'memory_stores.memory': { params: storedMemory },
  'memory_stores.update_memory': { params: storedMemory, body: { content: 'Be brief.' } },
  'memory_stores.remove_memory': { params: storedMemory },
  'memory_versions.list': { query: { operation: 'created', limit: 2 } },
  'memory_versions.get': { params: memoryVersion },
  'memory_versions.redact': { params: memoryVersion, notRun: 'needs a version that is not the current one' },
  'dialect_sessions.add_resource': { body: { type: 'file', file_id: '{stored_file_id}' } },
  'dialect_sessions.remove_resource': { notRun: 'needs a session with a file' },
}
