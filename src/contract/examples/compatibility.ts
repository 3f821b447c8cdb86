import type { Examples } from './example.ts'

const pending = { session_id: '{careful_session_id}', permission_id: '{approval_id}' }

/** The APIs of Managed Agents and of opencode's clients. */
export const compatibilityExamples: Examples = {
  'opencode.reply': { params: { request_id: '{approval_id}' }, body: { reply: 'once' } },
  'opencode.answer': { params: pending, body: { response: 'once' } },
  'opencode.log': { body: { service: 'tui', level: 'info', message: 'started' } },
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
  'dialect_sessions.add_resource': { body: { type: 'file' }, notRun: 'not supported: answers 400' },
}
