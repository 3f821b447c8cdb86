import type { Sandbox } from '../../sandboxes/sandbox.ts'
import { defaultToolLimits } from '../../tools/tool.ts'
import { builtinTools, memoryTools, toolsFor } from '../../tools/toolset.ts'
import { failed, type RunPrompt, type RunSession, type Runtime } from '../runtime.ts'
import { createErasing } from '../without-secrets.ts'
import { compactOnRequest, conversationOf } from './context/compaction.ts'
import type { OpenToolUse } from './conversation.ts'
import { askModel } from './model-step.ts'
import { requestEnd } from './model-tries.ts'
import type { BuiltinDeps, Events, Run } from './run.ts'
import { isRead as isReadCall, isRepeatable, neverAnswered, outcomeUnknown, runToolCalls } from './tool-calls.ts'
import { callTools } from './tool-step.ts'

const defaultMaxTurns = 100

/** The agent loop over our own gateway: ask the model, run its tools, until it has no more to do. Id `builtin`. */
export function builtinRuntime(deps: BuiltinDeps): Runtime {
  return {
    id: 'builtin',
    parks: true,
    workspace: { isRead, onlyByCalls: true },
    reads: 'own log',
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
      const isLent = session.agent_id !== ''
      const usable = toolset.tools.filter(({ tool }) => isLent || !memoryTools.includes(tool))
      const tools = new Map(usable.map(enabled => [enabled.tool.name, enabled]))
      const openSandbox = lentSandbox(deps, session.id)
      const toolContext = async () => ({
        sandbox: await openSandbox(),
        memories: isLent ? lentMemories(deps, session, prompt) : undefined,
        signal: context.signal,
        limits: defaultToolLimits,
        log: deps.log,
      })
      const memories = await deps.memories.block(session)
      const erasing = createErasing(deps.gateway.echoes(), context)
      const run: Run = {
        deps,
        session,
        prompt,
        context: erasing.context,
        conversation,
        memories,
        tools,
        toolContext,
        schema: undefined,
      }
      // What is yielded is stored, so the conversation in memory always equals the one that a crash would leave.
      for await (const said of steps(run)) {
        const batch = erasing.batch(said)
        for (const event of batch) run.conversation.add(event)
        yield batch
      }
    },
    dispose: ({ id }) => deps.sandboxes.remove(id),
  }
}

/** A call of a tool that is not there fails, and changes nothing. */
const isRead = (name: string): boolean => builtinTools.find(tool => tool.name === name)?.reads ?? true

/** Opens the sandbox when a tool first needs it. */
function lentSandbox({ sandboxes, markSandboxRunning }: BuiltinDeps, sessionId: string): () => Promise<Sandbox> {
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

/** The agent saves for whoever queued the prompt. */
function lentMemories({ memories }: BuiltinDeps, { id, agent_id }: RunSession, { principal, key_id }: RunPrompt) {
  const actor = { principal, role: 'agent', keyId: key_id ?? undefined, address: undefined, requestId: undefined }
  return memories.lend({ agentId: agent_id, sessionId: id, actor })
}

async function* steps(run: Run): AsyncGenerator<Events> {
  const { context, session } = run
  yield* settleCutOff(run)
  if (run.prompt.kind === 'compact') return yield* compactOnRequest(run)
  const maxTurns = Number(session.config['max_turns'] ?? defaultMaxTurns)
  for (let turn = 0; turn < maxTurns; turn++) {
    if (context.signal.aborted || context.isDraining()) return
    // What asks a person may still be open from before a crash.
    if (run.conversation.openToolUses.length === 0 && !(yield* askModel(run))) return
    if (!(yield* callTools(run))) return
  }
  yield [failed('tool_use_limit_reached_error', `the run took ${maxTurns} turns, its limit; send a prompt to go on`)]
}

/** Gives every tool call that was cut off by a crash its result, and closes a model request without an end. */
async function* settleCutOff({ context, conversation, tools, toolContext }: Run): AsyncGenerator<Events> {
  const open = conversation.openRequest
  if (open !== undefined) yield [requestEnd(open, { is_error: true })]
  const isOpenQuestion = ({ permission }: OpenToolUse) => permission === 'ask'
  const question = conversation.openToolUses.findIndex(isOpenQuestion)
  // What comes behind a question and may change something has waited for the answer.
  const hasBegun = (use: OpenToolUse, at: number) =>
    !isOpenQuestion(use) && (question < 0 || at < question || isReadCall(use, tools))
  const uses = conversation.openToolUses.filter(hasBegun)
  if (context.signal.aborted) yield conversation.openToolUses.filter(use => !uses.includes(use)).map(neverAnswered)
  for (const use of uses) if (!isRepeatable(use, tools)) yield [outcomeUnknown(use)]
  const repeated = uses.filter(use => isRepeatable(use, tools))
  for await (const result of runToolCalls(repeated, tools, toolContext)) yield [result]
}
