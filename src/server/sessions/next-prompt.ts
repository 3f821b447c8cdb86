import type { StoredVersion } from '../agents/store.ts'
import type { Caller } from '../http/caller.ts'
import { notFound } from '../platform/errors.ts'
import type { RunSession } from '../runtimes/runtime.ts'
import { runSessionOf } from './engine/run-session.ts'
import type { PromptStore, QueuedPrompt } from './queue/prompt-store.ts'
import type { SessionRow } from './session-row.ts'
import type { SessionStore } from './session-store.ts'

interface Deps {
  readonly store: Pick<SessionStore, 'find'>
  readonly prompts: Pick<PromptStore, 'current'>
  readonly agents: { version(id: string, version: number): Promise<StoredVersion | undefined> }
  /** Returns the model of prompts that name none. */
  readonly modelOf: (session: SessionRow) => Promise<string>
}

/** A session as its runtime sees it, and the prompt that its next model request is for. */
export interface NextPrompt {
  readonly session: RunSession
  readonly runtime: string
  /** The version of the agent that the session runs; undefined without an agent. */
  readonly agent: StoredVersion | undefined
  readonly ancestors: readonly string[]
  readonly prompt: Pick<QueuedPrompt, 'model' | 'system' | 'output_schema' | 'principal' | 'key_id'>
}

/**
 * Returns a function that finds the prompt of a session's next model request: the running one, else the first that waits,
 * else the last one. Without any, a prompt of the caller without settings.
 */
export function createNextPrompt({ store, prompts, agents, modelOf }: Deps) {
  return async (id: string, caller: Caller): Promise<NextPrompt> => {
    const row = await store.find(id, caller.ownerScope)
    if (!row || row.purged_at) throw notFound('session', id)
    const { agent_id, agent_version, runtime, ancestors } = row
    const agent = agent_version === null ? undefined : await agents.version(agent_id, agent_version)
    const prompt = (await prompts.current(id)) ?? {
      model: await modelOf(row),
      system: null,
      output_schema: null,
      principal: caller.principal,
      key_id: caller.key?.id ?? null,
    }
    return { session: await runSessionOf(row, agents), runtime, agent, ancestors, prompt }
  }
}
