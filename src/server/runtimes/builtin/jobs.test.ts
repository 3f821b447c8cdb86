import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contextOver, prompt, rigOver, session } from '../../../../test/support/sessions/builtin-rig.ts'
import { scriptedModel } from '../../../../test/support/sessions/scripted-model.ts'
import type { NewEvent } from '../../../contract/events.ts'
import type { ExecRequest, Sandbox } from '../../sandboxes/sandbox.ts'
import { partsOf } from '../runtime.ts'
import { builtinRuntime } from './runtime.ts'

const asked: NewEvent = { type: 'user.message', prompt_id: prompt.id, content: prompt.parts }

/** A model that starts a job and then ends its turn. */
const gateway = scriptedModel(at => [
  at === 0
    ? { type: 'tool_use', id: 'toolu_1', name: 'bash', input: { command: 'serve', run_in_background: true } }
    : { type: 'text', text: 'done' },
])

/** A sandbox whose commands run until they are stopped. */
function endlessSandbox(stopped: string[]) {
  const exec = ({ command, signal }: ExecRequest) =>
    new Promise(resolve => {
      signal?.addEventListener('abort', () => {
        stopped.push(command)
        resolve({ outcome: 'cancelled', exitCode: null, output: '', outputBytes: 0, truncated: false })
      })
    })
  return { driver: 'virtual', files: {}, exec } as unknown as Sandbox
}

/** Runs the prompt and stops after `batches`; returns the stopped commands. */
async function stoppedAfter(batches: number): Promise<{ stopped: string[]; types: string[] }> {
  const stopped: string[] = []
  const types: string[] = []
  const sandboxes = { open: async () => endlessSandbox(stopped), remove: async () => undefined }
  const runtime = builtinRuntime({ gateway, ...rigOver([]), sandboxes })
  let left = batches
  for await (const batch of runtime.run(session, prompt, contextOver([asked]))) {
    const { events } = partsOf(batch)
    types.push(...events.map(({ type }) => type))
    if (events.some(({ type }) => type === 'agent.tool_result')) assert.deepEqual(stopped, [])
    if (--left <= 0) break
  }
  return { stopped, types }
}

test('a background job is stopped with its run', async () => {
  const { stopped, types } = await stoppedAfter(Number.POSITIVE_INFINITY)
  assert.equal(types.at(-1), 'session.status_idle')
  assert.deepEqual(stopped, ['serve'])
})

test('a background job is stopped when its run is handed over or parks', async () => {
  const { types } = await stoppedAfter(Number.POSITIVE_INFINITY)
  const result = types.indexOf('agent.tool_result')
  const { stopped } = await stoppedAfter(result)
  assert.deepEqual(stopped, ['serve'])
})

test('only a call that starts a job may change files after its result', () => {
  const { workspace } = builtinRuntime({ gateway, ...rigOver([]) })
  const outlives = (tool: string, input: unknown) => workspace?.outlivesCall?.(tool, input)
  assert.equal(outlives('bash', { command: 'x', run_in_background: true }), true)
  assert.equal(outlives('bash', { command: 'x' }), false)
  assert.equal(outlives('write', { run_in_background: true }), false)
  assert.equal(outlives('bash', 'text'), false)
})
