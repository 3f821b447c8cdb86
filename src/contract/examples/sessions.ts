import type { Examples } from './example.ts'

const parts = [{ type: 'text', text: 'List the files' }]
const model = { providerID: 'switchyard', modelID: 'demo' }

/** Sessions, their events and files, approvals and custom tools. */
export const sessionExamples: Examples = {
  'sessions.create': { body: { agent: '{agent_id}', title: 'invoice', prompt: 'Create hello.txt' } },
  'sessions.children': { query: { limit: 2 } },
  'sessions.list': { query: { agent_id: '{agent_id}', limit: 2 } },
  'sessions.update': { body: { title: 'invoice 42', metadata: { team: 'blue' } } },
  'sessions.fork': { body: { title: 'another way' } },
  'sessions.prompt_async': { body: { model, parts } },
  'sessions.message': { body: { parts } },
  'sessions.withdraw': { params: { session_id: '{careful_session_id}', prompt_id: '{waiting_prompt_id}' } },
  'sessions.summaries': { query: { agent_id: '{agent_id}', limit: 2 } },
  'managed_sessions.list': { query: { agent_id: '{agent_id}', limit: 2 } },
  'events.list': { query: { after: '1', limit: 2 } },
  'events.send': {
    body: { events: [{ type: 'user.message', content: [{ type: 'text', text: 'List the files' }] }] },
  },
  'approvals.list': { query: { session_id: '{careful_session_id}', state: 'pending' } },
  'approvals.decide': { body: { result: 'allow' } },
  'approvals.page': { query: { token: 'token' }, notRun: 'the token of the link authenticates it, not a key' },
  'approvals.answer': {
    query: { token: 'token' },
    body: { result: 'allow' },
    notRun: 'the token of the link authenticates it, not a key',
  },
  'custom_tools.list': { query: { session_id: '{calling_session_id}', state: 'pending' } },
  'custom_tools.answer': { body: { content: [{ type: 'text', text: '7 open invoices' }] } },
}
