import { checkStart } from '../local/check-start.ts'
import { createProgramPool } from '../local/program-pool.ts'
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
  files_in: true,
  resume: true,
  cost: true,
  model_per_prompt: true,
  compaction: false,
}

/** Local programs that use the Agent Client Protocol. Dialects: section 5. */
export function acpKind(deps: AcpDeps): RuntimeKind {
  return {
    spec: 'acp',
    capabilities,
    connect: endpoint => acpRuntime(deps, endpoint),
    check(endpoint, signal) {
      const task = { model: 'none', needsApproval: false, memories: undefined, mcpServers: [] }
      const start = (sessionId: string) => startAgent(deps, endpoint, { ...task, sessionId })
      // Most programs require a login only when a session is opened.
      const probe = async (agent: Agent) => void (await agent.open(null))
      return checkStart({ sandboxes: deps.sandboxes, signal, start, probe })
    },
    // The programs use the models of the gateway, which lists them itself.
    models: async () => [],
  }
}

/** Runs one program per session, which stays in a pool between prompts. */
function acpRuntime(deps: AcpDeps, endpoint: RuntimeEndpoint): Runtime & { close(): Promise<void> } {
  const pool = createProgramPool<Agent>({ idleMs: deps.idleMs ?? defaultIdleMs })
  return {
    id: endpoint.id,
    capabilities,
    workspace: programWorkspace,
    reads: 'any log',
    run: (session, prompt, context) => runPrompt({ deps, endpoint, pool, session, prompt, context }),
    async dispose({ id }) {
      await pool.end(id)
      await deps.sandboxes.remove(id)
    },
    close: () => pool.endAll(),
  }
}
