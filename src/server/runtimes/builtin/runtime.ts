import { removedTool } from '../../tools/custom-tools.ts'
import { frontEndText } from '../../tools/front-end.ts'
import { isReplay } from '../../tools/replay.ts'
import { withToolSearch } from '../../tools/searched-tools.ts'
import { isSubagentTool, subagentInput } from '../../tools/subagents.ts'
import { type ListedTools, toolsOfSources } from '../../tools/tool-source.ts'
import { builtinTools, everyTool } from '../../tools/toolset.ts'
import { failed, type Runtime } from '../runtime.ts'
import { createRedactor } from '../without-secrets.ts'
import { compactOnRequest, conversationOf } from './context/compaction.ts'
import { createNextRequest } from './context/next-request.ts'
import { noContents } from './context/prompt-files.ts'
import { requestModel } from './model-step.ts'
import { requestEnd } from './model-tries.ts'
import { closeEvaluation, evaluate } from './outcome/evaluation.ts'
import { createReplayTools } from './replay.ts'
import type { BuiltinDeps, Events, Run } from './run.ts'
import { createRunServices, startsJob } from './run-services.ts'
import { createSources } from './sources.ts'
import { isRepeatable, outcomeUnknown, runToolCalls } from './tool-calls.ts'
import { callTools, closeUnanswered, waitsIn } from './tool-step.ts'

const defaultMaxTurns = 100

/** The agent loop on our own gateway: calls the model and runs its tools until it calls none. Id `builtin`. */
export function builtinRuntime(deps: BuiltinDeps): Runtime {
  const sourcesOf = createSources(deps)
  const servicesOf = createRunServices(deps)
  const replayToolsOf = createReplayTools(deps)

  async function toolsOf(run: Parameters<typeof sourcesOf>[0], signal: AbortSignal): Promise<ListedTools> {
    const { customToolEnd } = run.context
    const listed = withToolSearch(await toolsOfSources(sourcesOf(run), { signal, log: deps.log }))
    return { ...listed, removed: customToolEnd && removedTool(run.session.config, customToolEnd) }
  }

  return {
    id: 'builtin',
    parks: true,
    offersCustomTools: true,
    workspace: { isRead: isReadTool, onlyByCalls: true, outlivesCall: startsJob },
    reads: 'own log',
    async inputSchemaOf(name, session) {
      if (isSubagentTool(name)) return subagentInput
      return everyTool.find(tool => tool.name === name)?.inputSchema ?? deps.mcp.inputSchemaOf(name, session)
    },
    contextOf: createNextRequest(deps),
    capabilities: {
      streaming: true,
      interrupt: true,
      steer: true,
      approvals: true,
      files: true,
      files_in: true,
      resume: true,
      cost: true,
      model_per_prompt: true,
      compaction: true,
      typed_results: true,
      replay: true,
      outcomes: true,
    },
    async *run(session, prompt, context) {
      const recording = isReplay(session.environment) ? await deps.recordingOf(session.id) : undefined
      if (isReplay(session.environment) && !recording) return yield [noRecording]
      const { conversation } = await conversationOf(context)
      const services = servicesOf({ prompt, context })
      const callContext = { signal: context.signal, limits: deps.toolLimits, log: deps.log }
      const frontEnd = recording ? undefined : await deps.frontEnds.of(session, prompt.id)
      const tools = recording
        ? await replayToolsOf({ session, prompt, context, recording })
        : await toolsOf({ session, prompt, context, services, frontEnd }, context.signal)
      const blocks = [await deps.memories.block(session), await deps.memoryStores.block(session.id)]
      const memories = blocks.filter(text => text !== '').join('\n\n')
      const redactor = createRedactor(deps.gateway.echoes(), context)
      const run: Run = {
        deps,
        session,
        prompt,
        context: redactor.context,
        conversation,
        memories,
        application: frontEndText(frontEnd),
        tools,
        callContext,
        files: noContents,
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

/** A replay never falls back to real tools. */
const noRecording = failed(
  'invalid_request_error',
  'this session replays recorded results, but has none: its experiment or case was deleted, or it is a fork; send the prompt to another session',
)

/** A call of an unknown tool fails and changes nothing, so it counts as a read. */
const isReadTool = (name: string): boolean => builtinTools.find(tool => tool.name === name)?.reads ?? true

async function* steps(run: Run): AsyncGenerator<Events> {
  yield* settleInterrupted(run)
  if (run.prompt.kind === 'compact') return yield* compactOnRequest(run)
  if (run.tools.warnings.length > 0)
    yield run.tools.warnings.map(warning => ({ type: 'session.warning', warning }) as const)
  const maxTurns = Number(run.session.config['max_turns'] ?? defaultMaxTurns)
  for (let turn = 0; turn < maxTurns; turn++) {
    if (!(yield* evaluateAnswer(run)) || isOver(run)) return
    // A question to a person may still be open from before a crash.
    if (run.conversation.openToolUses.length === 0 && !(yield* requestModel(run))) return
    if (!(yield* callTools(run))) return
  }
  if (!(yield* evaluateAnswer(run))) return
  yield [
    failed('tool_use_limit_reached_error', `the run reached its limit of ${maxTurns} turns; send a prompt to continue`),
  ]
}

const isOver = ({ context }: Run): boolean => context.signal.aborted || context.isDraining()

/** Lets the grader judge an answer whose evaluation has begun. Returns false when the run has ended or must be handed over. */
async function* evaluateAnswer(run: Run): AsyncGenerator<Events, boolean> {
  const { outcome } = run.prompt
  if (!outcome || !run.conversation.outcomes.evaluationOf(outcome)) return true
  return isOver(run) ? false : yield* evaluate(run, outcome)
}

/** Gives every tool call that a crash interrupted a result, and closes a model request without an end. */
async function* settleInterrupted(run: Run): AsyncGenerator<Events> {
  const { context, conversation, tools, callContext } = run
  const open = conversation.openRequest
  if (open !== undefined) yield [requestEnd(open, { is_error: true })]
  const waits = waitsIn(conversation.openToolUses, run)
  const begun = conversation.openToolUses.filter(use => !waits.has(use))
  if (context.signal.aborted) yield* closeUnanswered(run, [...waits])
  yield* closeEvaluation(run)
  for (const use of begun) if (!isRepeatable(use, tools)) yield [outcomeUnknown(use)]
  const repeated = begun.filter(use => isRepeatable(use, tools))
  for await (const result of runToolCalls(repeated, tools, callContext)) yield [result]
}
