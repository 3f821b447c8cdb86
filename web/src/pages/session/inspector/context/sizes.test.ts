import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sizesOf } from './sizes.ts'

const part = (kind: 'system' | 'skill' | 'memories', tokens: number) => ({
  kind,
  source_id: null,
  name: null,
  text: '',
  estimated_tokens: tokens,
})
const tool = (tokens: number, is_shown: boolean) => ({
  name: 'bash',
  description: '',
  input_schema: {},
  mcp_server: null,
  policy: 'allow' as const,
  is_shown,
  estimated_tokens: tokens,
})

test('Each kind of content has one size, tools only when the model sees them', () => {
  const sizes = sizesOf({
    parts: [part('system', 10), part('skill', 5), part('skill', 7)],
    tools: [tool(100, true), tool(900, false)],
    conversation: { messages: 2, estimated_tokens: 50 },
  })
  assert.deepEqual(sizes, [
    { name: 'Instructions', tokens: 10 },
    { name: 'Skills', tokens: 12 },
    { name: 'Tools', tokens: 100 },
    { name: 'Conversation', tokens: 50 },
  ])
})

test('A runtime that stores its conversation has no size of it', () =>
  assert.deepEqual(sizesOf({ parts: [], tools: [], conversation: null }), []))
