import type { NewEvent, SessionEvent } from '../../../src/contract/events.ts'
import { newId } from '../../../src/server/platform/ids.ts'
import {
  type Decision,
  type ProviderRefs,
  partsOf,
  type RunContext,
  type RunPrompt,
  type RunSession,
  type Runtime,
} from '../../../src/server/runtimes/runtime.ts'

/** A session whose provider knows nothing of it yet. */
export const noRefs: ProviderRefs = {
  runtime_agent_ref_id: null,
  provider_session_id: null,
  provider_run_id: null,
  runtime_state: {},
}

/** A prompt of the master key. */
export const promptOf = (text: string, changes: Partial<RunPrompt> = {}): RunPrompt => ({
  id: newId('msg'),
  kind: 'prompt',
  parts: [{ type: 'text', text }],
  model: 'demo',
  system: null,
  principal: 'ada',
  key_id: null,
  output_schema: null,
  outcome: null,
  message_id: null,
  ...changes,
})

/** A session without an agent. */
export const sessionWith = (changes: Partial<RunSession> = {}): RunSession => ({
  id: newId('ses'),
  owner_id: 'ada',
  agent_id: '',
  system: '',
  skills: [],
  tools: {},
  config: {},
  environment: {},
  timezone: null,
  title: 'A session',
  refs: noRefs,
  ...changes,
})

/**
 * The engine as one runtime sees it, without a database: it keeps the log and what the provider calls things, over as many
 * runs and crashes as a test makes.
 */
export function runRig(first: RunSession = sessionWith()) {
  const log: SessionEvent[] = []
  const previews: { eventId: string; text: string }[] = []
  let refs = first.refs
  const append = (events: readonly NewEvent[]): void => {
    for (const event of events) {
      const stored = {
        ...event,
        id: event.id ?? newId('evt'),
        seq: log.length + 1,
        processed_at: new Date().toISOString(),
      }
      log.push(stored as SessionEvent)
    }
  }

  return {
    log,
    previews,
    get session(): RunSession {
      return { ...first, refs }
    },
    get refs(): ProviderRefs {
      return refs
    },
    /** Types of the events of the log, without those that the engine itself writes for a prompt. */
    types: () => log.map(({ type }) => type).filter(type => type !== 'user.message'),

    /**
     * Runs `prompt` as the engine does. `onBatch` receives each batch after it was stored; returning true interrupts the run there,
     * as a crash would: call `run` again with the same prompt and `isResumed`.
     */
    async run(
      runtime: Pick<Runtime, 'run'>,
      prompt: RunPrompt,
      {
        signal = new AbortController().signal,
        isDraining = () => false,
        decide = async () => undefined,
        onBatch = () => undefined,
        onRemember = () => undefined,
        isResumed = false,
      }: {
        signal?: AbortSignal
        isDraining?: () => boolean
        decide?: (eventId: string) => Promise<Decision | undefined>
        onBatch?: (events: readonly NewEvent[]) => boolean | undefined
        onRemember?: (refs: Partial<ProviderRefs>) => void
        isResumed?: boolean
      } = {},
    ): Promise<void> {
      if (!isResumed) {
        append([{ type: 'user.message', prompt_id: prompt.id, content: prompt.parts, model: prompt.model }])
        append([{ type: 'session.status_running', prompt_id: prompt.id, run_id: 'run_1' }])
      }
      const context: RunContext = {
        runId: 'run_1',
        signal,
        isStopped: () => signal.aborted && !isDraining(),
        isDraining,
        history: async function* () {
          yield* [...log]
        },
        async fold({ begin, add }) {
          const state = begin()
          for (const event of log) add(state, event)
          return { state, last: log.at(-1)?.seq ?? 0 }
        },
        prompts: async () => [prompt],
        fileContent: async () => Buffer.from('content of the file'),
        payer: async ({ principal }) => ({ principal, key: undefined }),
        preview: (eventId, text) => void previews.push({ eventId, text }),
        saveRefs: async changes => {
          refs = { ...refs, ...changes }
          onRemember(changes)
        },
        decision: decide,
        claimToolCall: async () => true,
      }
      for await (const batch of runtime.run({ ...first, refs }, prompt, context)) {
        const { events, refs: changes } = partsOf(batch)
        if (events.length === 0) throw new Error('a batch without events: the engine stores none; use saveRefs')
        append(events)
        refs = { ...refs, ...changes }
        if (onBatch(events)) return
      }
    },
  }
}
