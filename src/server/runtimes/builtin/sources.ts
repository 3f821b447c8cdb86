import type { Actor } from '../../http/caller.ts'
import { ByteGate } from '../../platform/byte-gate.ts'
import type { Sandbox } from '../../sandboxes/sandbox.ts'
import { customSource, customTools } from '../../tools/custom-tools.ts'
import { type FrontEnd, frontEndTools, stateSource } from '../../tools/front-end.ts'
import { memoryFilesSource } from '../../tools/memory-files.ts'
import { memorySource, sandboxSource } from '../../tools/own-sources.ts'
import { subagentEntries, subagentSource } from '../../tools/subagents.ts'
import { type RunServices, toolMemoryBytes } from '../../tools/tool.ts'
import type { ToolSource } from '../../tools/tool-source.ts'
import { toolsFor } from '../../tools/toolset.ts'
import type { RunContext, RunPrompt, RunSession } from '../runtime.ts'
import type { BuiltinDeps } from './run.ts'
import { isAvailable } from './run-services.ts'

interface RunOf {
  readonly session: RunSession
  readonly prompt: RunPrompt
  readonly context: Pick<RunContext, 'customToolEnd' | 'payer' | 'subagents'>
  readonly services: RunServices
  readonly frontEnd: FrontEnd | undefined
}

/** Returns a function that lists the sources of a run's tools. */
export function createSources(deps: BuiltinDeps): (run: RunOf) => ToolSource[] {
  const memory = new ByteGate(toolMemoryBytes)
  const { mismatch } = deps.resultSchemas
  return ({ session, prompt, context, services, frontEnd }) => {
    const { tools, warnings } = toolsFor(session.tools)
    const enabled = tools.filter(({ tool }) => isAvailable(tool.name, deps))
    for (const warning of warnings) deps.log.warn({ session_id: session.id, agent_id: session.agent_id }, warning)
    const { customToolEnd, subagents } = context
    const open = sandboxOpener(deps, session)
    return [
      sandboxSource(enabled, { open, memory, services }),
      ...(session.agent_id === '' ? [] : [memorySource(enabled, memoriesFor(deps, session, prompt))]),
      memoryFilesSource(() => deps.memoryStores.filesFor(session.id, agentOf(prompt))),
      ...(subagents ? [subagentSource(subagentEntries(session.config), subagents)] : []),
      ...(customToolEnd
        ? [customSource(customTools(session.tools, session.config), { endOf: customToolEnd, mismatch })]
        : []),
      ...deps.mcp.sources({
        agent: session,
        sessionId: session.id,
        payer: () => context.payer(prompt),
        model: services.model,
        openSandbox: open,
      }),
      // Last: a tool of the service is never replaced by one of a front-end.
      ...(frontEnd?.state ? [stateSource(frontEnd.state)] : []),
      ...(frontEnd && customToolEnd
        ? [customSource(frontEndTools(frontEnd, session.tools, session.config), { endOf: customToolEnd, mismatch })]
        : []),
    ]
  }
}

/** Returns a function that opens the sandbox, and marks it as running the first time. */
function sandboxOpener({ sandboxes, markSandboxRunning }: BuiltinDeps, session: RunSession): () => Promise<Sandbox> {
  let isMarked = false
  return async () => {
    const sandbox = await sandboxes.open(session.id, session)
    if (!isMarked) {
      isMarked = true
      await markSandboxRunning(session.id)
    }
    return sandbox
  }
}

const memoriesFor = ({ memories }: BuiltinDeps, { id, agent_id }: RunSession, prompt: RunPrompt) =>
  memories.toolMemories({ agentId: agent_id, sessionId: id, actor: agentOf(prompt) })

/** Memories are saved on behalf of the user who queued the prompt. */
const agentOf = ({ principal, key_id }: RunPrompt): Actor => ({
  principal,
  role: 'agent',
  keyId: key_id ?? undefined,
  address: undefined,
  requestId: undefined,
})
