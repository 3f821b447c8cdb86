import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from '../../../../test/support/service/database.ts'
import { createEngine, type Part } from '../../../../test/support/sessions/session-engine.ts'
import { idle } from '../../runtimes/runtime.ts'
import { sessionStore } from '../session-store.ts'

const { pool } = await freshDatabase()
const done = idle({ type: 'end_turn' })
const [here, there] = [randomUUID(), randomUUID()]

/** A replica whose runs use tools unless `usesTools` is false. */
function replica(t: TestContext, folderId: string | undefined, { usesTools = true } = {}) {
  const part: Part = async id => {
    if (usesTools) await sessionStore(pool).markSandboxRunning(id, folderId)
    return [[done]]
  }
  const engine = createEngine(t, { pool, parts: Array.from({ length: 5 }, () => part), ...(folderId && { folderId }) })
  return {
    ...engine,
    /** Number of warnings in the log after one more prompt here. */
    async warningsAfterPrompt(id: string): Promise<number> {
      await engine.prompt(id, 'go on')
      await engine.settle()
      return (await engine.logOf(id)).filter(type => type === 'session.warning').length
    },
  }
}

test('V9: a session that moves to another data folder gets one warning per move, after its run starts', async t => {
  const [one, other] = [replica(t, here), replica(t, there, { usesTools: false })]
  const id = await one.create()
  assert.deepEqual([await one.warningsAfterPrompt(id), await one.warningsAfterPrompt(id)], [0, 0])
  assert.deepEqual([await other.warningsAfterPrompt(id), await other.warningsAfterPrompt(id)], [1, 1])
  assert.deepEqual((await one.logOf(id)).slice(6, 9), ['user.message', 'session.status_running', 'session.warning'])
  assert.deepEqual([await one.warningsAfterPrompt(id), await one.warningsAfterPrompt(id)], [2, 2])
})

test('V9: no warning without earlier tools, in the same folder, or in a folder without an id', async t => {
  const [one, same, other] = [replica(t, here), replica(t, here), replica(t, there)]
  const [toolless, unmarked] = [replica(t, here, { usesTools: false }), replica(t, undefined)]
  const untouched = await toolless.create()
  await toolless.warningsAfterPrompt(untouched)
  assert.equal(await other.warningsAfterPrompt(untouched), 0)
  const shared = await one.create()
  await one.warningsAfterPrompt(shared)
  assert.deepEqual([await same.warningsAfterPrompt(shared), await unmarked.warningsAfterPrompt(shared)], [0, 0])
})

test('V9: a run that a replica with another data folder takes over gets a warning', async t => {
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
