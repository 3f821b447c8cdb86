import { findingsFor } from '../../../src/server/runtimes/registry/findings.ts'
import type { Runtime, RuntimeRegistry } from '../../../src/server/runtimes/runtime.ts'

/** A registry of these runtimes alone, all of them connected, which carry what the service's own does. */
export function registryOf(...runtimes: readonly Runtime[]): RuntimeRegistry {
  const byId = new Map(runtimes.map(runtime => [runtime.id, runtime]))
  return {
    find: async name => byId.get(name),
    unavailableReason: async name => (byId.has(name) ? undefined : 'is unknown'),
    findings: async (name, requested) =>
      byId.has(name)
        ? findingsFor('builtin', requested, { canSearch: false, canClone: true, sandboxProblem: () => undefined })
        : [],
    list: async () => runtimes.map(({ id, capabilities }) => ({ id, name: id, connected: true, capabilities })),
  }
}
