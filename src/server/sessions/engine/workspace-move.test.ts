import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from '../../../../test/support/database.ts'
import { createEngine, type Part } from '../../../../test/support/session-engine.ts'
import { idle } from '../../runtimes/runtime.ts'
import { sessionStore } from '../session-store.ts'

const { pool } = await freshDatabase()
const done = idle({ type: 'end_turn' })
const [here, there] = [randomUUID(), randomUUID()]

/** A replica whose runs use tools, or do not. */
function replica(t: TestContext, folderId: string | undefined, { usesTools = true } = {}) {
  const part: Part = async id => {
    if (usesTools) await sessionStore(pool).markSandboxRunning(id, folderId)
    return [[done]]
  }
  const engine = createEngine(t, { pool, parts: Array.from({ length: 5 }, () => part), ...(folderId && { folderId }) })
  return {
    ...engine,
    /** How many warnings the log has after one more prompt here. */
    async warningsAfterPrompt(id: string): Promise<number> {
      await engine.prompt(id, 'go on')
      await engine.settle()
      return (await engine.logOf(id)).filter(type => type === 'session.warning').length
    },
  }
}

test('V9: a session that moves to another data folder is warned once a move, after its run begins', async t => {
  const [one, other] = [replica(t, here), replica(t, there, { usesTools: false })]
  const id = await one.create()
  assert.deepEqual([await one.warningsAfterPrompt(id), await one.warningsAfterPrompt(id)], [0, 0])
  assert.deepEqual([await other.warningsAfterPrompt(id), await other.warningsAfterPrompt(id)], [1, 1])
  assert.deepEqual((await one.logOf(id)).slice(6, 9), ['user.message', 'session.status_running', 'session.warning'])
  assert.deepEqual([await one.warningsAfterPrompt(id), await one.warningsAfterPrompt(id)], [2, 2])
})

test('V9: no tools before, the same folder, or a folder without a mark: no warning', async t => {
  const [one, same, other] = [replica(t, here), replica(t, here), replica(t, there)]
  const [toolless, unmarked] = [replica(t, here, { usesTools: false }), replica(t, undefined)]
  const untouched = await toolless.create()
  await toolless.warningsAfterPrompt(untouched)
  assert.equal(await other.warningsAfterPrompt(untouched), 0)
  const shared = await one.create()
  await one.warningsAfterPrompt(shared)
  assert.deepEqual([await same.warningsAfterPrompt(shared), await unmarked.warningsAfterPrompt(shared)], [0, 0])
})

test('V9: a run that a replica with another data folder takes over is warned as well', async t => {
  const [one, other] = [replica(t, here), replica(t, there)]
  const id = await one.create()
  await one.warningsAfterPrompt(id)
  await one.prompt(id, 'cut off')
  await pool.query(
    `update prompts set state = 'running', run_id = 'run_1' where session_id = $1 and state = 'waiting'`,
    [id],
  )
  assert.equal(await other.warningsAfterPrompt(id), 1)
})
