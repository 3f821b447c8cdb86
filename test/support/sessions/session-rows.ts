import type { Pool } from 'pg'
import { newId } from '../../../src/server/platform/ids.ts'
import { sessionStore } from '../../../src/server/sessions/session-store.ts'

/** Stores a session of the built-in runtime without an agent; its id. */
export async function storedSession(pool: Pool): Promise<string> {
  const id = newId('ses')
  await sessionStore(pool).insert(pool, {
    id,
    owner_id: 'ada',
    title: 'A session',
    agent: '',
    agent_id: '',
    agent_version: null,
    harness: 'builtin',
    runtime: 'builtin',
    environment: {},
    timezone: null,
    ancestors: [],
  })
  return id
}

/** Queues a prompt of one word at a position; its id. */
export async function storedPrompt(
  pool: Pool,
  sessionId: string,
  { position, mode = 'enqueue' }: { readonly position: number; readonly mode?: 'enqueue' | 'steer' },
): Promise<string> {
  const id = newId('msg')
  const text = `
    insert into prompts (id, session_id, position, parts, model, mode, principal)
    values ($1, $2, $3, '[{"type":"text","text":"hello"}]', 'demo', $4, 'ada')`
  await pool.query(text, [id, sessionId, position, mode])
  await sessionStore(pool).setDue(pool, sessionId)
  return id
}

/** Marks a prompt as running, as the begin of its run does. */
export async function startPrompt(pool: Pool, id: string, runId: string): Promise<void> {
  await pool.query('delete from waits where prompt_id = $1', [id])
  await pool.query(`update prompts set state = 'running', run_id = $2 where id = $1`, [id, runId])
}

/** Ends the running prompts of a session, as the end of their run does. */
export async function finishPrompts(
  pool: Pool,
  sessionId: string,
  state: 'done' | 'error' | 'cancelled',
): Promise<void> {
  await pool.query(`update prompts set state = $2 where session_id = $1 and state = 'running'`, [sessionId, state])
}
