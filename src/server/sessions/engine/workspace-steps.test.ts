import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from '../../../../test/support/database.ts'
import { createEngine, plays } from '../../../../test/support/session-engine.ts'
import { AppError } from '../../platform/errors.ts'
import { idle } from '../../runtimes/runtime.ts'
import type { ReadyCheckpoint } from '../../workspaces/workspaces.ts'

const { pool } = await freshDatabase()
const done = idle({ type: 'end_turn' })
const call = (id: string, name: string) => ({ type: 'agent.tool_use', tool_use_id: id, name, input: {} })
const result = (id: string) => ({ type: 'agent.tool_result', tool_use_id: id, content: [], is_error: false })

/** Files that change before every look; what was committed is noted as the number of its event. */
function changing({ fails = 0 } = {}) {
  const noted = { looks: 0, committed: [] as number[], done: 0, restored: [] as (string | null)[] }
  let left = fails
  const workspaces = {
    async restore({ checkpoint_id }: { readonly checkpoint_id: string | null }) {
      noted.restored.push(checkpoint_id)
      return undefined
    },
    async capture(): Promise<ReadyCheckpoint> {
      noted.looks++
      if (left-- > 0) throw new Error('the store is away')
      return {
        id: `chk_${noted.looks}`,
        leftOut: noted.looks === 1 ? [{ path: 'big', reason: 'it is too large' }] : undefined,
        commit: async (_on, seq) => void noted.committed.push(seq),
        done: async () => void noted.done++,
      }
    },
  }
  return { noted, workspaces }
}

test('a step that may have changed files is stored with them; reads and words are not looked at', async t => {
  const { noted, workspaces } = changing()
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
  assert.deepEqual(noted.committed, [results[1], results[2]])
  assert.deepEqual([noted.looks, noted.done], [2, 2])
})

test('a call that was cut off may have changed files: they are stored with the end of the run', async t => {
  const { noted, workspaces } = changing()
  const engine = createEngine(t, { pool, parts: [plays([call('a', 'bash')], [done])], workspaces })
  const id = await engine.create()
  await engine.prompt(id, 'go')
  await engine.settle()
  assert.deepEqual(noted.committed, [(await engine.logOf(id)).length])
})

test('files that cannot be stored do not stop the run, and the log says so once', async t => {
  const { noted, workspaces } = changing({ fails: 6 })
  const steps = plays([call('a', 'bash'), call('b', 'bash')], [result('a')], [result('b')], [done])
  const engine = createEngine(t, { pool, parts: [steps], workspaces })
  const id = await engine.create()
  await engine.prompt(id, 'go')
  engine.runner.wake(id)
  while ((await engine.queueOf(id))[0] !== 'go done') await new Promise(resolve => setTimeout(resolve, 50))
  assert.equal((await engine.logOf(id)).filter(type => type === 'session.warning').length, 1)
  assert.deepEqual(noted.committed.length, 1, 'the end of the run has stored them')
})

test('without its files no run goes on: the prompt ends with what to do', async t => {
  const restore = async () => {
    throw new AppError('invalid_request', 'a disk is full')
  }
  const { workspaces } = changing()
  const engine = createEngine(t, { pool, parts: [], workspaces: { ...workspaces, restore } })
  const id = await engine.create()
  await engine.prompt(id, 'go')
  engine.runner.wake(id)
  while ((await engine.queueOf(id))[0] !== 'go error') await new Promise(resolve => setTimeout(resolve, 50))
  assert.deepEqual(engine.runs, [])
})
