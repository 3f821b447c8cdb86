import { pause } from '../../platform/timers.ts'
import { closing } from '../remote/connection.ts'
import type { RuntimeKind } from '../runtime.ts'
import { openAgent } from './agent.ts'
import { type A2aDeps, a2aCapabilities, a2aRuntime } from './runtime.ts'

/** `wait` is `pause` of the platform by default. */
type KindDeps = Omit<A2aDeps, 'wait'> & Partial<Pick<A2aDeps, 'wait'>>

/** Agents of the Agent2Agent protocol, version 1.0. */
export function a2aKind(given: KindDeps): RuntimeKind {
  const deps: A2aDeps = { wait: pause, ...given }
  return {
    spec: 'a2a',
    capabilities: a2aCapabilities,
    connect: endpoint => a2aRuntime(endpoint, deps),
    check: async (endpoint, signal) => closing(await openAgent(deps, endpoint, signal), ({ api }) => api.probe(signal)),
    // An agent does not tell its models.
    models: async () => [],
  }
}
