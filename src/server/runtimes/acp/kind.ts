import { checkStart } from '../local/check-start.ts'
import { createKeptPrograms } from '../local/kept-programs.ts'
import {
  type Capabilities,
  noCapabilities,
  programWorkspace,
  type Runtime,
  type RuntimeEndpoint,
  type RuntimeKind,
} from '../runtime.ts'
import type { Agent } from './agent.ts'
import { type AcpDeps, runPrompt, startAgent } from './run.ts'

const defaultIdleMs = 5 * 60_000

const capabilities: Capabilities = {
  ...noCapabilities,
  streaming: true,
  interrupt: true,
  approvals: true,
  files: true,
  resume: true,
  cost: true,
  model_per_prompt: true,
  compaction: false,
}

/** Programs of this machine that speak the Agent Client Protocol. Dialects: section 5. */
export function acpKind(deps: AcpDeps): RuntimeKind {
  return {
    spec: 'acp',
    capabilities,
    connect: endpoint => acpRuntime(deps, endpoint),
    check(endpoint, signal) {
      const task = { model: 'none', asks: false, memories: undefined }
      const start = (sessionId: string) => startAgent(deps, endpoint, { ...task, sessionId })
      // Most programs ask for a login only once a session is opened.
      const look = async (agent: Agent) => void (await agent.open(null))
      return checkStart({ sandboxes: deps.sandboxes, signal, start, look })
    },
    // The models are ours: the gateway lists them.
    models: async () => [],
  }
}

/** One program for each session, kept for a while between prompts. */
function acpRuntime(deps: AcpDeps, endpoint: RuntimeEndpoint): Runtime & { close(): Promise<void> } {
  const kept = createKeptPrograms<Agent>({ idleMs: deps.idleMs ?? defaultIdleMs })
  return {
    id: endpoint.id,
    capabilities,
    workspace: programWorkspace,
    reads: 'any log',
    run: (session, prompt, context) => runPrompt({ deps, endpoint, kept, session, prompt, context }),
    async dispose({ id }) {
      await kept.end(id)
      await deps.sandboxes.remove(id)
    },
    close: () => kept.endAll(),
  }
}
