import type { Examples } from './example.ts'

const agent = { name: 'Scribe', owner_id: 'me', model: 'demo', system: 'Write short notes.' }

const form = 'takes a form with files'

/** Agents, their memories and their skills. */
export const agentExamples: Examples = {
  'agents.list': { query: { owner_id: 'me', status: 'active', include: 'last_session', limit: 2 } },
  'agents.create': { body: agent },
  'agents.update': { body: { ...agent, system: 'Write short notes in English.', note: 'Notes are read abroad' } },
  'agents.rollback': { body: { note: 'The notes became too long' } },
  'agents.diff': { query: { to: 2 } },
  'agents.context': { query: { prompt: 'Write down that we deploy on Tuesdays.' } },
  'agents.import': {
    query: { name: 'Copied scribe' },
    body: {
      format: 'switchyard.agent',
      format_version: 1,
      agent: { ...agent, description: null, harness: 'builtin', tools: [], config: {} },
      skills: [],
      omitted: [],
    },
  },
  'memories.list': { query: { q: 'deploy' } },
  'memories.create': { body: { text: 'Deploy on Tuesdays', tags: ['deploy'], type: 'fact', priority: 10 } },
  'memories.update': { body: { priority: 20 } },
  'memories.import': { body: { memories: [{ text: 'Use tabs', tags: ['style'] }] } },
  'memories.mcp': { body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } },
  'skills.create': { body: { name: 'Terse', content: 'Answer in one sentence.' } },
  'skills.import': {
    body: { text: '---\nname: terse\ndescription: Short answers\n---\nAnswer in one sentence.\n' },
  },
  'skills.update': { body: { content: 'Answer in at most two sentences.' } },
  'skills.compare': { params: { skill_id: '{skill_id}', agent_id: '{agent_id}' }, notRun: 'needs an attached skill' },
  'skills.upgrade': { body: { dry_run: true } },
  'skill_folders.create': { notRun: form },
  'skill_folders.list': { query: { limit: 2 } },
  'skill_folders.update': { body: { default_version: '1' } },
  'skill_folders.create_version': { notRun: form },
  'skill_folders.remove_version': { notRun: 'needs a skill with two versions' },
  'agent_skills.attach': { body: { skill_id: '{skill_id}' } },
  'agent_skills.detach': { query: { skill_id: '{skill_id}' } },
}
