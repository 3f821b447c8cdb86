import { nonEmptyText, recordOf } from '../../platform/json.ts'
import type { ProviderRefs, RunContext } from '../runtime.ts'
import { type Branch, branchesIn } from './api.ts'

/** What must be found again after a crash, besides the ids of agent and run. */
export interface CursorState {
  /** The prompt that was sent last, or is about to be. */
  readonly prompt?: string | undefined
  /** Newest run from before it, empty when there was none; undefined for the prompt that makes the agent. */
  readonly before?: string | undefined
  /** The stream's last event of which everything is in the log. */
  readonly last_event_id?: string | undefined
  /** The run was told to stop by us. */
  readonly is_cancelled?: boolean | undefined
  /** The run has ended, as far as we know. */
  readonly is_over?: boolean | undefined
  readonly git?: { readonly branches: readonly Branch[] } | undefined
}

/** What is stored of a session at Cursor; every change is stored before it counts. */
export interface Notes {
  readonly agentId: string | null
  /** The newest run that we know. */
  readonly runId: string | null
  readonly state: CursorState
  /** Stores at once. */
  write(changes: Changes): Promise<void>
  /** The same as refs of a batch, which are stored with its events. */
  refsWith(state: Partial<CursorState>): Partial<ProviderRefs>
}

interface Changes {
  readonly agentId?: string
  readonly runId?: string | null
  /** Replaces fields of the state. */
  readonly state?: Partial<CursorState>
}

export function createNotes(refs: ProviderRefs, { remember }: Pick<RunContext, 'remember'>): Notes {
  let agentId = refs.provider_session_id
  let runId = refs.provider_run_id
  let state = stateIn(refs)
  return {
    get agentId() {
      return agentId
    },
    get runId() {
      return runId
    },
    get state() {
      return state
    },
    async write(changes) {
      const next = { ...state, ...changes.state }
      await remember({
        ...(changes.agentId !== undefined && { provider_session_id: changes.agentId }),
        ...(changes.runId !== undefined && { provider_run_id: changes.runId }),
        runtime_state: stored(next),
      })
      agentId = changes.agentId ?? agentId
      runId = changes.runId === undefined ? runId : changes.runId
      state = next
    },
    refsWith(changes) {
      state = { ...state, ...changes }
      return { runtime_state: stored(state) }
    },
  }
}

/** Without the fields that say nothing. */
const stored = (state: CursorState): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(state).filter(([, value]) => value !== undefined && value !== false))

/** The state of a session, whatever else stands there. */
export function stateIn({ runtime_state }: Pick<ProviderRefs, 'runtime_state'>): CursorState {
  const { prompt, before, last_event_id, is_cancelled, is_over, git } = recordOf(runtime_state)
  const branches = branchesIn(git)
  return {
    prompt: nonEmptyText(prompt),
    before: typeof before === 'string' ? before : undefined,
    last_event_id: nonEmptyText(last_event_id),
    is_cancelled: is_cancelled === true,
    is_over: is_over === true,
    git: branches.length > 0 ? { branches } : undefined,
  }
}
