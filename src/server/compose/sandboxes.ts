import type { Config } from '../config/config.ts'
import { createEgress } from '../egress/egress.ts'
import type { InnerHost } from '../egress/inner-host.ts'
import type { Part } from '../platform/lifecycle.ts'
import type { Log } from '../platform/log.ts'
import { createOutbound } from '../platform/outbound.ts'
import { createSandboxes } from '../sandboxes/sandboxes.ts'

interface Needs {
  readonly config: Config
  readonly workspacesDir: string
  /** Hosts that the server answers for sandboxes itself. */
  readonly innerHosts: readonly InnerHost[]
  readonly log: Log
}

/** Sandboxes of sessions and of local programs, and their network. */
export async function composeSandboxes({ config, workspacesDir, innerHosts, log }: Needs) {
  // `outbound.allow` is for connections of the server, which its agents must not use.
  const { networkOf } = createEgress({
    workspacesDir,
    outbound: createOutbound({ allow: [] }),
    innerHosts,
    allowUnrestricted: config.limits.allowUnrestrictedEgress ?? false,
    log,
  })
  const { driver, image, kubernetes } = config.sandbox
  const sandboxes = await createSandboxes({
    workspacesDir,
    log,
    prefer: driver === 'auto' ? undefined : driver,
    kubernetes: kubernetes && image !== undefined ? { settings: kubernetes, image } : undefined,
    cpus: config.limits.sandboxCpus,
    networkOf,
  })
  const parts: readonly Part[] = [{ name: 'sandboxes', stop: sandboxes.stopAll }]
  return { sandboxes, parts }
}
