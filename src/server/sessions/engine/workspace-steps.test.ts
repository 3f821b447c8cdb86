import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from '../../../../test/support/service/database.ts'
import { createEngine, plays } from '../../../../test/support/sessions/session-engine.ts'
import type { NewEvent } from '../../../contract/events.ts'
import { AppError } from '../../platform/errors.ts'
import { idle } from '../../runtimes/runtime.ts'
import type { ReadyCheckpoint } from '../../workspaces/workspaces.ts'

const { pool } = await freshDatabase()
const done = idle({ type: 'end_turn' })
const call = (id: string, name: string): NewEvent => ({ type: 'agent.tool_use', tool_use_id: id, name, input: {} })
const result = (id: string): NewEvent => ({ type: 'agent.tool_result', tool_use_id: id, content: [], is_error: false })

/** A workspace whose files change before every capture. Records the event number of each commit. */
function changingFiles({ fails = 0 } = {}) {
  const recorded = { captures: 0, committed: [] as number[], done: 0, restored: [] as (string | null)[] }
  let left = fails
  const workspaces = {
    async restore({ checkpoint_id }: { readonly checkpoint_id: string | null }) {
      recorded.restored.push(checkpoint_id)
      return undefined
    },
    async capture(): Promise<ReadyCheckpoint> {
      recorded.captures++
      if (left-- > 0) throw new Error('the store is unreachable')
      return {
        id: `chk_${recorded.captures}`,
        leftOut: recorded.captures === 1 ? [{ path: 'big', reason: 'it is too large' }] : undefined,
        commit: async (_on, seq) => void recorded.committed.push(seq),
        done: async () => void recorded.done++,
      }
    },
  }
  return { recorded, workspaces }
}

test('a step that may have changed files is stored with a checkpoint; reads and messages are not captured', async t => {
  const { recorded, workspaces } = changingFiles()
  const parts = [
    plays(
      [{ type: 'agent.message', content: [] }],
      [call('a', 'read'), call('b', 'bash'), call('c', 'bash')],
      [result('a')],
      [result('b')],
      [result('c')],
      [done],
    ),
  ]
  const engine = createEngine(t, { pool, parts, workspaces })
  const id = await engine.create()
  await engine.prompt(id, 'go')
  await engine.settle()
  const log = await engine.logOf(id)
  const results = log.flatMap((type, at) => (type === 'agent.tool_result' ? [at + 1] : []))
  assert.equal(log[results[1] ?? 0], 'session.warning', 'what is left out is said with the step')
  assert.deepEqual(recorded.committed, [results[1], results[2]])
  assert.deepEqual([recorded.captures, recorded.done], [2, 2])
})

test('an interrupted call may have changed files: they are stored with the end of the run', async t => {
  const { recorded, workspaces } = changingFiles()
  const engine = createEngine(t, { pool, parts: [plays([call('a', 'bash')], [done])], workspaces })
  const id = await engine.create()
  await engine.prompt(id, 'go')
  await engine.settle()
  assert.deepEqual(recorded.committed, [(await engine.logOf(id)).length])
})

test('files that a call may change after its result are stored again with the end of the run', async t => {
  const { recorded, workspaces } = changingFiles()
  const parts = [plays([call('a', 'serve')], [result('a')], [{ type: 'agent.message', content: [] }], [done])]
  const engine = createEngine(t, { pool, parts, workspaces })
  const id = await engine.create()
  await engine.prompt(id, 'go')
  await engine.settle()
  const log = await engine.logOf(id)
  assert.deepEqual(recorded.committed, [log.indexOf('agent.tool_result') + 1, log.length])
})

test('files that cannot be stored do not stop the run, and one warning is logged', async t => {
  const { recorded, workspaces } = changingFiles({ fails: 6 })
  const steps = plays([call('a', 'bash'), call('b', 'bash')], [result('a')], [result('b')], [done])
  const engine = createEngine(t, { pool, parts: [steps], workspaces })
  const id = await engine.create()
  await engine.prompt(id, 'go')
  engine.runner.wake(id)
  while ((await engine.queueOf(id))[0] !== 'go done') await new Promise(resolve => setTimeout(resolve, 50))
  assert.equal((await engine.logOf(id)).filter(type => type === 'session.warning').length, 1)
  assert.deepEqual(recorded.committed.length, 1, 'the end of the run has stored them')
})

test('a run without its files does not start: the prompt ends with the next step to take', async t => {
  const restore = async () => {
    throw new AppError('invalid_request', 'a disk is full')
  }
  const { workspaces } = changingFiles()
  const engine = createEngine(t, { pool, parts: [], workspaces: { ...workspaces, restore } })
  const id = await engine.create()
  await engine.prompt(id, 'go')
  engine.runner.wake(id)
  while ((await engine.queueOf(id))[0] !== 'go error') await new Promise(resolve => setTimeout(resolve, 50))
  assert.deepEqual(engine.runs, [])
})
