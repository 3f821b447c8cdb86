import { ByteGate } from '../../platform/byte-gate.ts'
import type { Sandbox } from '../../sandboxes/sandbox.ts'
import { toolMemoryBytes } from '../../tools/tool.ts'
import { builtinTools, everyTool, memoryTools, toolsFor } from '../../tools/toolset.ts'
import { failed, type RunPrompt, type RunSession, type Runtime } from '../runtime.ts'
import { createRedactor } from '../without-secrets.ts'
import { compactOnRequest, conversationOf } from './context/compaction.ts'
import type { OpenToolUse } from './conversation.ts'
import { requestModel } from './model-step.ts'
import { requestEnd } from './model-tries.ts'
import type { BuiltinDeps, Events, Run } from './run.ts'
import { createRunServices, isAvailable, startsJob } from './run-services.ts'
import { isRead as isReadCall, isRepeatable, neverAnswered, outcomeUnknown, runToolCalls } from './tool-calls.ts'
import { callTools } from './tool-step.ts'

const defaultMaxTurns = 100

/** The agent loop on our own gateway: calls the model and runs its tools until it calls none. Id `builtin`. */
export function builtinRuntime(deps: BuiltinDeps): Runtime {
  const memory = new ByteGate(toolMemoryBytes)
  const servicesOf = createRunServices(deps)
  return {
    id: 'builtin',
    parks: true,
    workspace: { isRead, onlyByCalls: true, outlivesCall: startsJob },
    reads: 'own log',
    inputSchemaOf: name => everyTool.find(tool => tool.name === name)?.inputSchema,
    capabilities: {
      streaming: true,
      interrupt: true,
      steer: true,
      approvals: true,
      files: true,
      resume: true,
      cost: true,
      model_per_prompt: true,
      compaction: true,
      typed_results: true,
    },
    async *run(session, prompt, context) {
      const { conversation } = await conversationOf(context)
      const toolset = toolsFor(session.tools)
      for (const warning of toolset.warnings)
        deps.log.warn({ session_id: session.id, agent_id: session.agent_id }, warning)
      const hasMemories = session.agent_id !== ''
      const usable = toolset.tools.filter(
        ({ tool }) => (hasMemories || !memoryTools.includes(tool)) && isAvailable(tool.name, deps),
      )
      const tools = new Map(usable.map(enabled => [enabled.tool.name, enabled]))
      const openSandbox = sandboxOpener(deps, session.id)
      const services = servicesOf({ prompt, context })
      const toolContext = async () => ({
        ...services,
        sandbox: await openSandbox(),
        memories: hasMemories ? memoriesFor(deps, session, prompt) : undefined,
        signal: context.signal,
        limits: deps.toolLimits,
        memory,
        log: deps.log,
      })
      const memories = await deps.memories.block(session)
      const redactor = createRedactor(deps.gateway.echoes(), context)
      const run: Run = {
        deps,
        session,
        prompt,
        context: redactor.context,
        conversation,
        memories,
        tools,
        toolContext,
        schema: undefined,
      }
      // Yielded events are stored, so the conversation in memory equals the one after a crash.
      try {
        for await (const events of steps(run)) {
          const batch = redactor.batch(events)
          for (const event of batch) run.conversation.add(event)
          yield batch
        }
      } finally {
        await services.jobs.end()
      }
    },
    dispose: ({ id }) => deps.sandboxes.remove(id),
  }
}

/** A call of an unknown tool fails and changes nothing, so it counts as a read. */
const isRead = (name: string): boolean => builtinTools.find(tool => tool.name === name)?.reads ?? true

/** Returns a function that opens the sandbox, and marks it as running the first time. */
function sandboxOpener({ sandboxes, markSandboxRunning }: BuiltinDeps, sessionId: string): () => Promise<Sandbox> {
  let isMarked = false
  return async () => {
    const sandbox = await sandboxes.open(sessionId)
    if (!isMarked) {
      isMarked = true
      await markSandboxRunning(sessionId)
    }
    return sandbox
  }
}

/** Memories are saved on behalf of the user who queued the prompt. */
function memoriesFor({ memories }: BuiltinDeps, { id, agent_id }: RunSession, { principal, key_id }: RunPrompt) {
  const actor = { principal, role: 'agent', keyId: key_id ?? undefined, address: undefined, requestId: undefined }
  return memories.toolMemories({ agentId: agent_id, sessionId: id, actor })
}

async function* steps(run: Run): AsyncGenerator<Events> {
  const { context, session } = run
  yield* settleInterrupted(run)
  if (run.prompt.kind === 'compact') return yield* compactOnRequest(run)
  const maxTurns = Number(session.config['max_turns'] ?? defaultMaxTurns)
  for (let turn = 0; turn < maxTurns; turn++) {
    if (context.signal.aborted || context.isDraining()) return
    // A question to a person may still be open from before a crash.
    if (run.conversation.openToolUses.length === 0 && !(yield* requestModel(run))) return
    if (!(yield* callTools(run))) return
  }
  yield [
    failed('tool_use_limit_reached_error', `the run reached its limit of ${maxTurns} turns; send a prompt to continue`),
  ]
}

/** Gives every tool call that a crash interrupted a result, and closes a model request without an end. */
async function* settleInterrupted({ context, conversation, tools, toolContext }: Run): AsyncGenerator<Events> {
  const open = conversation.openRequest
  if (open !== undefined) yield [requestEnd(open, { is_error: true })]
  const isOpenQuestion = ({ permission }: OpenToolUse) => permission === 'ask'
  const question = conversation.openToolUses.findIndex(isOpenQuestion)
  // Calls after a question that may change something have waited for the answer.
  const hasBegun = (use: OpenToolUse, at: number) =>
    !isOpenQuestion(use) && (question < 0 || at < question || isReadCall(use, tools))
  const uses = conversation.openToolUses.filter(hasBegun)
  if (context.signal.aborted) yield conversation.openToolUses.filter(use => !uses.includes(use)).map(neverAnswered)
  for (const use of uses) if (!isRepeatable(use, tools)) yield [outcomeUnknown(use)]
  const repeated = uses.filter(use => isRepeatable(use, tools))
  for await (const result of runToolCalls(repeated, tools, toolContext)) yield [result]
}
