import type { Config } from '../config/config.ts'
import { createEgress } from '../egress/egress.ts'
import type { InnerHost } from '../egress/inner-host.ts'
import { createSessionSecrets } from '../egress/session-secrets.ts'
import type { Part } from '../platform/lifecycle.ts'
import type { Log } from '../platform/log.ts'
import { createOutbound } from '../platform/outbound.ts'
import { createSandboxes } from '../sandboxes/sandboxes.ts'
import type { Vault } from '../vault/vault.ts'

interface Needs {
  readonly config: Config
  readonly workspacesDir: string
  /** Hosts that the server answers for sandboxes itself. */
  readonly innerHosts: readonly InnerHost[]
  readonly vault: Pick<Vault, 'value'>
  readonly log: Log
}

/** Sandboxes of sessions and of local programs, and their network. */
export async function composeSandboxes(needs: Needs) {
  const { config, workspacesDir, innerHosts, log } = needs
  const sessionSecrets = createSessionSecrets(needs)
  // `outbound.allow` is for connections of the server, which its agents must not use.
  const { networkOf } = createEgress({
    workspacesDir,
    outbound: createOutbound({ allow: [] }),
    innerHosts,
    secretReader: sessionSecrets.readerFor,
    allowUnrestricted: config.limits.allowUnrestrictedEgress ?? false,
    log,
  })
  const sandboxes = await createSandboxes({
    workspacesDir,
    log,
    prefer: config.sandbox.driver === 'auto' ? undefined : config.sandbox.driver,
    settings: config.sandbox,
    cpus: config.limits.sandboxCpus,
    networkOf,
  })
  const parts: readonly Part[] = [{ name: 'sandboxes', stop: sandboxes.stopAll }]
  return { sandboxes, sessionSecrets, parts }
}
