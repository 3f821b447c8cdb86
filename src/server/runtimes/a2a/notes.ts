import { compact, nonEmptyText, recordOf } from '../../platform/json.ts'
import type { ProviderRefs, RunContext } from '../runtime.ts'

/** State that is needed after a crash, besides the ids of context and task. */
export interface A2aState {
  /** The prompt that was sent last or is about to be sent. */
  readonly prompt?: string | undefined
  /** Task of that prompt; undefined before it is known. */
  readonly task?: string | undefined
  /** Task whose question this prompt answers. */
  readonly continues?: string | undefined
  /** Mark of that question, or of the one with which the task of this prompt waits for the next prompt. */
  readonly question?: string | undefined
  /** The task is known to have ended, or waits for the next prompt. */
  readonly is_over?: boolean | undefined
  /** We have cancelled the task. */
  readonly is_cancelled?: boolean | undefined
  /** The agent answers without making tasks, so a lost answer cannot be found again. */
  readonly answers_directly?: boolean | undefined
}

interface Changes {
  readonly contextId?: string | undefined
  readonly state: Partial<A2aState>
}

/** Stored state of a session at an agent. */
export interface Notes {
  readonly contextId: string | undefined
  readonly state: A2aState
  /** Stores changes at once. */
  write(changes: Changes): Promise<void>
  /** Applies changes and returns them as refs of a batch, which are stored with its events. */
  refsWith(changes: Changes): Partial<ProviderRefs>
}

export function createNotes(refs: ProviderRefs, { saveRefs }: Pick<RunContext, 'saveRefs'>): Notes {
  let contextId = refs.provider_session_id ?? undefined
  let state = stateIn(refs)
  const refsWith = (changes: Changes): Partial<ProviderRefs> => {
    contextId = changes.contextId ?? contextId
    state = { ...state, ...changes.state }
    const { task } = state
    return {
      ...(contextId !== undefined && { provider_session_id: contextId }),
      ...(task !== undefined && { provider_run_id: task }),
      runtime_state: compact(Object.fromEntries(Object.entries(state).filter(([, value]) => value !== false))),
    }
  }
  return {
    get contextId() {
      return contextId
    },
    get state() {
      return state
    },
    write: changes => saveRefs(refsWith(changes)),
    refsWith,
  }
}

/** Reads the state of a session. */
export function stateIn({ runtime_state }: Pick<ProviderRefs, 'runtime_state'>): A2aState {
  const { prompt, task, continues, question, is_over, is_cancelled, answers_directly } = recordOf(runtime_state)
  return {
    prompt: nonEmptyText(prompt),
    task: nonEmptyText(task),
    continues: nonEmptyText(continues),
    question: nonEmptyText(question),
    is_over: is_over === true,
    is_cancelled: is_cancelled === true,
    answers_directly: answers_directly === true,
  }
}

/** Returns the task that is not known to be over for good: that of the prompt, or the one whose question it failed to answer. */
export const openTaskOf = ({ task, continues }: A2aState): string | undefined => task ?? continues
