import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noRefs } from '../../../../test/support/sessions/run-rig.ts'
import { modelRequestBody } from './request.ts'

const session = {
  id: 'ses_1',
  owner_id: 'ada',
  agent_id: 'agent_1',
  system: 'Be terse.',
  skills: [],
  tools: {},
  config: {},
  environment: {},
  timezone: 'Europe/Berlin',
  title: 'A session',
  refs: noRefs,
}
const prompt = {
  id: 'msg_1',
  kind: 'prompt' as const,
  parts: [],
  model: 'demo',
  system: null,
  principal: 'ada',
  key_id: null,
  output_schema: null,
  outcome: null,
  message_id: null,
}

/** The system blocks of a request: each text, with a star where the cache is marked. */
function systemOf(memories: string, changes: { readonly system?: string } = {}, application = ''): string[] {
  const given = {
    session,
    prompt: { ...prompt, ...changes },
    memories,
    application,
    schema: undefined,
    maxTokens: 16_000,
    messages: [],
    tools: { byName: new Map(), failures: [] },
    found: [],
  }
  const blocks = modelRequestBody(given)['system'] as { text: string; cache_control?: object }[]
  return blocks.map(({ text, cache_control }) => (cache_control ? `${text}*` : text))
}

const place = "The user's time zone is Europe/Berlin."

test('memories follow the system prompt, so that the prefix shared by all sessions of the agent can be cached', () => {
  assert.deepEqual(systemOf(''), ['Be terse.', `${place}*`])
  assert.deepEqual(systemOf('<memories>'), ['Be terse.', `${place}*`, '<memories>*'])
})

test('what the front-end says comes after the cached texts, because it differs from run to run', () => {
  assert.deepEqual(systemOf('<memories>', {}, '<state>'), ['Be terse.', `${place}*`, '<memories>*', '<state>'])
})

test('a prompt with its own system prompt keeps the memories', () => {
  assert.deepEqual(systemOf('<memories>', { system: 'Other.' }), ['Other.', `${place}*`, '<memories>*'])
})
