import assert from 'node:assert/strict'
import type { NewEvent, SessionEvent } from '../../../src/contract/events.ts'
import { createLog } from '../../../src/server/platform/log.ts'
import { createResultSchemas } from '../../../src/server/platform/result-schema/result-schemas.ts'
import type { RunContext } from '../../../src/server/runtimes/runtime.ts'
import type { Sandbox } from '../../../src/server/sandboxes/sandbox.ts'
import { defaultToolLimits } from '../../../src/server/tools/tool.ts'
import { servicesForTests } from '../../../src/server/tools/tools-for-tests.ts'
import { noRefs } from './run-rig.ts'

/** A prompt of the master key. */
export const prompt = {
  id: 'msg_1',
  kind: 'prompt' as const,
  parts: [{ type: 'text' as const, text: 'Go' }],
  model: 'demo',
  system: null,
  principal: 'ada',
  key_id: null,
  output_schema: null,
  outcome: null,
  message_id: null,
}

/** A session without an agent. */
export const session = {
  id: 'ses_1',
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
}

/** The context of a run on `log`, without decisions of a person. */
export const contextOver = (log: readonly NewEvent[], changes: Partial<RunContext> = {}): RunContext => ({
  runId: 'run_1',
  signal: new AbortController().signal,
  isStopped: () => changes.signal?.aborted ?? false,
  isDraining: () => false,
  async *history() {
    yield* log as SessionEvent[]
  },
  async fold({ begin, add, copy }) {
    const state = begin()
    for (const event of log as SessionEvent[]) add(state, event)
    return { state: copy(state), last: (log as SessionEvent[]).at(-1)?.seq ?? 0 }
  },
  prompts: async () => [prompt],
  fileContent: async () => assert.fail('the prompt has no file'),
  payer: async ({ principal }) => ({ principal, key: undefined }),
  preview: () => undefined,
  saveRefs: async () => undefined,
  decision: async () => undefined,
  claimToolCall: async () => true,
  ...changes,
})

/** What the built-in runtime needs besides its gateway; `commands` gets what really ran. */
export function rigOver(commands: string[]) {
  const sandbox = {
    files: { read: async () => Buffer.from('hello\n') },
    async exec({ command }: { command: string }) {
      commands.push(command)
      return { outcome: 'exited', exitCode: 0, output: 'ok', outputBytes: 2, truncated: false }
    },
  } as unknown as Sandbox
  return {
    modelLimits: () => ({}),
    modelInputs: () => ({ images: false, documents: false }),
    toolLimits: defaultToolLimits,
    web: servicesForTests().web,
    sandboxes: { open: async () => sandbox, remove: async () => undefined },
    memories: { block: async () => '', toolMemories: () => assert.fail('the session has no agent') },
    memoryStores: { block: async () => '', filesFor: async () => undefined },
    mcp: { sources: () => [], inputSchemaOf: async () => undefined, stored: async () => ({ tools: [], notes: [] }) },
    frontEnds: { of: async () => undefined },
    resultSchemas: createResultSchemas(),
    recordingOf: async () => undefined,
    markSandboxRunning: async () => undefined,
    log: createLog('silent'),
  }
}
