import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contextOver, prompt, rigOver, session } from '../../../../test/support/sessions/builtin-rig.ts'
import { scriptedModel } from '../../../../test/support/sessions/scripted-model.ts'
import type { NewEvent } from '../../../contract/events.ts'
import type { RecordedCall } from '../../tools/replay.ts'
import { partsOf } from '../runtime.ts'
import { builtinRuntime } from './runtime.ts'

const replaying = {
  ...session,
  tools: [{ type: 'bash', permission_policy: 'ask' }],
  environment: { source: 'experiment', replay: true },
}
const asked: NewEvent = { type: 'user.message', prompt_id: prompt.id, content: prompt.parts }
const bash = (id: string, command: string) => ({ type: 'tool_use', id, name: 'bash', input: { command } }) as const
const recorded = (name: string, input: object, answer: string): RecordedCall => ({
  ...{ name, input, is_error: false },
  content: [{ type: 'text', text: answer }],
})
const calls = [recorded('bash', { command: 'a' }, 'A'), recorded('bash', { command: 'b' }, 'B')]

interface Play {
  readonly calls: readonly RecordedCall[]
  readonly notes?: readonly string[]
  readonly batches?: number
}

/** Replays on `log` until `batches` were stored; returns the log. */
async function replayOn(log: readonly NewEvent[], { notes = [], batches = 100, ...recording }: Play) {
  const ran: string[] = []
  const diverged: NewEvent[] = []
  const rig = rigOver(ran)
  const runtime = builtinRuntime({
    ...rig,
    gateway: scriptedModel(at => (at === 0 ? [bash('1', 'b'), bash('2', 'x')] : [{ type: 'text', text: 'done' }])),
    mcp: { ...rig.mcp, stored: async () => ({ tools: [], notes: [...notes] }) },
    recordingOf: async () => ({
      ...recording,
      onDiverged: async () => void diverged.push({ type: 'session.deleted' }),
    }),
  })
  const stored = [...log]
  let left = batches
  for await (const batch of runtime.run(replaying, prompt, contextOver(log))) {
    if (left-- <= 0) break
    stored.push(...partsOf(batch).events)
  }
  assert.deepEqual(ran, [], 'a real tool ran')
  return { log: stored, diverged: diverged.length }
}

const resultsIn = (log: readonly NewEvent[]) =>
  log.flatMap(({ type, tool_use_id, content }) =>
    type === 'agent.tool_result' ? [[tool_use_id, (content?.[0] as { text?: string } | undefined)?.text]] : [],
  )

test('wherever the process is killed, the calls of a replay get the same results', async () => {
  const whole = await replayOn([asked], { calls })
  assert.deepEqual(
    [resultsIn(whole.log), whole.diverged],
    [
      [
        ['1', 'B'],
        ['2', 'A'],
      ],
      0,
    ],
  )
  for (let batches = 0; ; batches++) {
    const cut = await replayOn([asked], { calls, batches })
    if (cut.log.length === whole.log.length) break
    const { log, diverged } = await replayOn(cut.log, { calls })
    assert.deepEqual([resultsIn(log), diverged], [resultsIn(whole.log), 0], `killed after ${batches} batches`)
  }
})

test('a replay warns about tools that it lacks: of servers, and of a front-end that the recorded session had', async () => {
  const more = [...calls, recorded('open_page', { path: '/' }, 'opened')]
  const { log } = await replayOn([asked], { calls: more, notes: ['MCP server tickets has no tools: not found'] })
  const warnings = log.flatMap(({ warning }) => (warning ? [`${warning.type}: ${warning.message}`] : []))
  assert.deepEqual(warnings, [
    'replay_incomplete: MCP server tickets has no tools: not found',
    'replay_incomplete: recorded results are not used, because the agent does not have these tools: open_page',
  ])
  assert.equal(log.at(-1)?.type, 'session.status_idle')
})
