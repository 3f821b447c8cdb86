import type { Config } from '../config/config.ts'
import type { InnerHost } from '../egress/inner-host.ts'
import type { Log } from '../platform/log.ts'
import type { Outbound } from '../platform/outbound.ts'
import { createGitCredentials } from '../runtimes/repositories/git-credentials.ts'
import { createGitProxy } from '../runtimes/repositories/git-proxy.ts'
import { gitProxyHost } from '../runtimes/repositories/git-script.ts'
import { createPackCache } from '../runtimes/repositories/pack-cache.ts'
import { createPullRequests } from '../runtimes/repositories/pull-requests.ts'
import { createRepositories } from '../runtimes/repositories/repositories.ts'
import { type Cloning, withRepository } from '../runtimes/repositories/with-repository.ts'
import { repositoryIn } from '../runtimes/repository.ts'
import type { Runtime } from '../runtimes/runtime.ts'
import type { Sandboxes } from '../sandboxes/sandboxes.ts'
import type { SandboxMark } from '../sessions/sandbox-mark.ts'
import type { Vault } from '../vault/vault.ts'

interface Needs {
  /** The current guard of outbound addresses. */
  readonly guard: () => Outbound
  /** Configured hosts of repositories. */
  readonly gitHosts: () => Config['gitHosts']
  /** Credentials of those hosts. */
  readonly vault: Pick<Vault, 'value'>
  /** Folder of fetched packs. */
  readonly gitCacheDir: string
  /** True when sandboxes have git and a network. */
  readonly hasNetwork: () => boolean
  readonly log: Log
}

const gibibyte = 1024 ** 3

/** Repositories of sessions, and the host of git in their sandboxes. */
export function composeRepositories({ guard, gitHosts, vault, gitCacheDir, hasNetwork, log }: Needs) {
  const cache = createPackCache({ folder: gitCacheDir, maxBytes: 2 * gibibyte, maxEntryBytes: gibibyte / 2 })
  const proxy = createGitProxy({ guard, cache, log })
  const host: InnerHost = {
    name: gitProxyHost,
    isFor: ({ environment }) => hasNetwork() && repositoryIn(environment) !== undefined,
    serve: (request, response, { id }) => proxy.handle(request, response, id),
  }
  return {
    host,
    /** Returns what adds repositories to the runtimes that work in the files of a session. */
    cloning(sandboxes: Sandboxes, markSandboxRunning: SandboxMark): Cloning {
      const repositories = createRepositories({
        sandboxes,
        proxy,
        credentialOf: createGitCredentials(vault, gitHosts),
        pullRequests: createPullRequests(guard),
        hosts: gitHosts,
        markSandboxRunning,
      })
      const cloning = (runtime: Runtime): Runtime =>
        runtime.workspace && sandboxes.hasNetwork ? withRepository(runtime, repositories) : runtime
      return {
        runtime: cloning,
        kind: kind => ({ ...kind, connect: endpoint => cloning(kind.connect(endpoint)) }),
      }
    },
  }
}
