import type { Pool } from 'pg'
import { newId } from '../../src/server/platform/ids.ts'
import { promptStore } from '../../src/server/sessions/prompt-store.ts'
import { sessionStore } from '../../src/server/sessions/session-store.ts'

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
  await promptStore(pool).insert(pool, {
    id,
    sessionId,
    position,
    parts: [{ type: 'text', text: 'hello' }],
    model: 'demo',
    system: undefined,
    mode,
    messageId: undefined,
    principal: 'ada',
    keyId: undefined,
  })
  return id
}
