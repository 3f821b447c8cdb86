import { nonEmptyText, recordOf } from '../../platform/json.ts'
import type { ProviderRefs, RunContext } from '../runtime.ts'
import { type Branch, branchesIn } from './api.ts'

/** State that is needed after a crash, besides the ids of agent and run. */
export interface CursorState {
  /** The prompt that was sent last or is about to be sent. */
  readonly prompt?: string | undefined
  /** Newest run before it, empty when there was none; undefined for the prompt that creates the agent. */
  readonly before?: string | undefined
  /** Last event of the stream that is completely in the log. */
  readonly last_event_id?: string | undefined
  /** We have cancelled the run. */
  readonly is_cancelled?: boolean | undefined
  /** The run is known to have ended. */
  readonly is_over?: boolean | undefined
  readonly git?: { readonly branches: readonly Branch[] } | undefined
}

/** Stored state of a session at Cursor. A change is stored before it takes effect. */
export interface Notes {
  readonly agentId: string | null
  /** The newest known run. */
  readonly runId: string | null
  readonly state: CursorState
  /** Stores changes at once. */
  write(changes: Changes): Promise<void>
  /** Applies changes and returns them as refs of a batch, which are stored with its events. */
  refsWith(state: Partial<CursorState>): Partial<ProviderRefs>
}

interface Changes {
  readonly agentId?: string
  readonly runId?: string | null
  /** Changed fields of the state. */
  readonly state?: Partial<CursorState>
}

export function createNotes(refs: ProviderRefs, { saveRefs }: Pick<RunContext, 'saveRefs'>): Notes {
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
      await saveRefs({
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

/** Removes undefined and false fields. */
const stored = (state: CursorState): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(state).filter(([, value]) => value !== undefined && value !== false))

/** Reads the state of a session. */
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
