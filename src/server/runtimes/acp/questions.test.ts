import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Json, textOf } from '../../platform/json.ts'
import type { Batch } from '../runtime.ts'
import { Normalizer } from './normalize.ts'
import { callPolicy } from './policy.ts'
import { createQuestions } from './questions.ts'
import { claudeName } from './tool-calls.ts'

const place = { server: 'wiki', tool: 'search' }

function rig() {
  const mcpTool = (call: Json) => (claudeName(call) === 'mcp__wiki__search' ? place : undefined)
  let lastId = 0
  const normalizer = new Normalizer(() => `evt_${++lastId}`, mcpTool)
  const questions = createQuestions({
    normalizer,
    context: { decision: () => new Promise(() => undefined) },
    policy: callPolicy([]),
    isNamed: call => textOf(claudeName(call)) !== '',
    memoryTool: () => undefined,
    mcpTool,
    mcp: { policyOf: () => 'ask', approve: () => undefined },
  })
  const answers: unknown[] = []
  const options = [{ kind: 'allow_once', optionId: 'yes' }]
  const toolCall = { toolCallId: 'call_1', title: 'mcp__wiki__search', kind: 'other', rawInput: { q: 'x' } }
  const request = { params: { toolCall, options }, answer: (answer: unknown) => void answers.push(answer) }
  const events = (batches: Iterable<Batch>) =>
    [...batches].flatMap(batch => ('events' in batch ? batch.events : batch)).map(({ type }) => type)
  return { normalizer, questions, request, answers, toolCall, events }
}

test('a permission request that comes before the name of its tool waits for it, so that its policy counts', () => {
  const { normalizer, questions, request, answers, toolCall, events } = rig()
  assert.deepEqual(events(questions.requestApproval(request as never)), [])
  assert.deepEqual(events(questions.requestNamed()), [])
  assert.deepEqual([questions.areEarly, questions.areOpen], [true, false])
  normalizer.take({
    ...toolCall,
    sessionUpdate: 'tool_call',
    status: 'pending',
    _meta: { claudeCode: { toolName: 'mcp__wiki__search' } },
  })
  assert.deepEqual(events(questions.requestNamed()), ['agent.mcp_tool_use', 'session.status_idle'])
  assert.deepEqual([questions.areEarly, questions.areOpen, answers], [false, true, []])
})

test('a request whose call is never announced is decided without a name, and is withdrawn with the turn', t => {
  const waiting = rig()
  assert.deepEqual(waiting.events(waiting.questions.requestApproval(waiting.request as never)), [])
  waiting.questions.withdraw()
  assert.deepEqual(waiting.answers, [{ outcome: { outcome: 'cancelled' } }])

  const { questions, request, answers, events } = rig()
  const { now } = performance
  assert.deepEqual(events(questions.requestApproval(request as never)), [])
  performance.now = () => now.call(performance) + 5_000
  t.after(() => {
    performance.now = now
  })
  assert.deepEqual(events(questions.requestNamed()), ['agent.tool_use'])
  assert.deepEqual(answers, [{ outcome: { outcome: 'selected', optionId: 'yes' } }])
})
