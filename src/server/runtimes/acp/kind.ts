import { randomUUID } from 'node:crypto'
import { createKeptPrograms } from '../local/kept-programs.ts'
import { type Capabilities, noCapabilities, type Runtime, type RuntimeEndpoint, type RuntimeKind } from '../runtime.ts'
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
}

/** Programs of this machine that speak the Agent Client Protocol. Dialects: section 5. */
export function acpKind(deps: AcpDeps): RuntimeKind {
  return {
    spec: 'acp',
    capabilities,
    connect: endpoint => acpRuntime(deps, endpoint),
    async check(endpoint, signal) {
      const sessionId = `check-${randomUUID()}`
      try {
        const started = startAgent(deps, endpoint, { sessionId, model: '', asks: false })
        const agent = await untilAborted(started, signal)
        await agent.stop()
      } finally {
        await deps.sandboxes.remove(sessionId)
      }
    },
    // The models are ours: the gateway lists them.
    models: async () => [],
  }
}

/** Gives up with the signal; what was started then ends with its sandbox. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    work.then(resolve, reject)
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })
}

/** One program for each session, kept for a while between prompts. */
function acpRuntime(deps: AcpDeps, endpoint: RuntimeEndpoint): Runtime & { close(): Promise<void> } {
  const kept = createKeptPrograms<Agent>({ idleMs: deps.idleMs ?? defaultIdleMs })
  return {
    id: endpoint.id,
    capabilities,
    run: (session, prompt, context) => runPrompt({ deps, endpoint, kept, session, prompt, context }),
    async dispose({ id }) {
      await kept.end(id)
      await deps.sandboxes.remove(id)
    },
    close: () => kept.endAll(),
  }
}
