import type { Config } from '../config/config.ts'
import type { Part } from '../platform/lifecycle.ts'
import type { Log } from '../platform/log.ts'
import { createSandboxes } from '../sandboxes/sandboxes.ts'

interface Needs {
  readonly config: Config
  readonly workspacesDir: string
  readonly log: Log
}

/** Sandboxes of sessions and of local programs. */
export async function composeSandboxes({ config, workspacesDir, log }: Needs) {
  const sandboxes = await createSandboxes({ workspacesDir, log, cpus: config.limits.sandboxCpus })
  const parts: readonly Part[] = [{ name: 'sandboxes', stop: sandboxes.stopAll }]
  return { sandboxes, parts }
}
