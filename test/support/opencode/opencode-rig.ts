import { createLog } from '../../../src/server/platform/log.ts'
import { createOutbound } from '../../../src/server/platform/outbound.ts'
import { pause } from '../../../src/server/platform/timers.ts'
import { opencodeKind } from '../../../src/server/runtimes/opencode/kind.ts'
import type { RuntimeEndpoint } from '../../../src/server/runtimes/runtime.ts'

/** The runtime's kind for servers on this machine, and their endpoint. Memories are `block`. */
export function opencodeRig(
  { url, port }: { url: string; port: number },
  { apiKey, block = '', haste = 100 }: RigOptions = {},
) {
  const endpoint: RuntimeEndpoint = { id: 'opencode', apiBase: url, apiKey }
  const kind = opencodeKind({
    outbound: createOutbound({ allow: [`127.0.0.1:${port}`] }),
    memories: { block: async () => block },
    log: createLog('silent'),
    wait: (ms, signal) => pause(ms / haste, signal),
  })
  return { kind, endpoint, runtime: kind.connect(endpoint) }
}

interface RigOptions {
  readonly apiKey?: string
  readonly block?: string
  /** How much faster waits pass; 100 times unless given. */
  readonly haste?: number
}
