import { pause } from '../../platform/timers.ts'
import { closing } from '../remote/connection.ts'
import { noCapabilities, type RuntimeKind } from '../runtime.ts'
import { managedAgentsApi } from './api.ts'
import { type ManagedAgentsDeps, managedAgentsRuntime } from './runtime.ts'

/** `wait` is `pause` of the platform by default. */
type KindDeps = Omit<ManagedAgentsDeps, 'wait'> & Partial<Pick<ManagedAgentsDeps, 'wait'>>

/** Claude Managed Agents: Anthropic's service, and any harness with the same protocol. Dialects: section 1. */
export function managedAgentsKind({ outbound, memories, wait = pause }: KindDeps): RuntimeKind {
  const capabilities = { ...noCapabilities, streaming: true, interrupt: true, approvals: true, resume: true }
  return {
    spec: 'claude_managed_agents',
    capabilities,
    connect: endpoint => managedAgentsRuntime({ outbound, memories, wait, endpoint, capabilities }),
    check: (endpoint, signal) => closing(managedAgentsApi(outbound, endpoint), api => api.probe(signal)),
    models: (endpoint, signal) => closing(managedAgentsApi(outbound, endpoint), api => api.models(signal)),
  }
}
