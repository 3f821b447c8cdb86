import { constants } from 'node:fs'
import { chmod, mkdir, mkdtemp, open, rm } from 'node:fs/promises'
import type { Server } from 'node:http'
import { join } from 'node:path'
import { pathOf } from '../platform/handle-path.ts'
import type { Log } from '../platform/log.ts'
import type { Outbound } from '../platform/outbound.ts'
import { type NetworkLink, networkFolderOf, proxyPort, proxySocket, type SandboxNetwork } from '../sandboxes/sandbox.ts'
import type { EgressSession, InnerHost } from './inner-host.ts'
import { createAuthority } from './interception/authority.ts'
import { bundleFiles, bundleVariables, writeBundle } from './interception/ca-bundle.ts'
import { networkPolicy, ofAgent } from './policy.ts'
import { createProxy, type EgressProxy } from './proxy.ts'
import type { ReadSecret } from './secrets.ts'

interface Deps {
  /** Folder of the session workspaces. */
  readonly workspacesDir: string
  /** Guards the connections of sandboxes: only public addresses. */
  readonly outbound: Pick<Outbound, 'connect'>
  readonly innerHosts: readonly InnerHost[]
  /** Returns what reads the vault for a session. */
  readonly secretReader: (session: EgressSession) => ReadSecret
  /** `limits.allow_unrestricted_egress`. */
  readonly allowUnrestricted: boolean
  readonly log: Pick<Log, 'info' | 'warn'>
}

/** Network of the sandboxes: a proxy with a separate socket for every command and program. */
export type Egress = ReturnType<typeof createEgress>

export function createEgress(deps: Deps) {
  return {
    /** Returns the network of a session; undefined for a session without one. */
    networkOf(session: EgressSession): SandboxNetwork | undefined {
      const { allowUnrestricted } = deps
      const { networkSetting: setting = ofAgent } = session
      const policy = networkPolicy(session.config, { allowUnrestricted, setting })
      const innerHosts = deps.innerHosts.filter(host => host.isFor(session))
      if (!policy && innerHosts.length === 0) return undefined
      return {
        async open() {
          const authority = policy?.hasIntercepted ? await createAuthority() : undefined
          const readSecret = deps.secretReader(session)
          const proxy = createProxy({
            ...deps,
            session,
            policy,
            innerHosts,
            readSecret,
            contextFor: authority?.contextFor ?? noContext,
          })
          try {
            return await linkTo(proxy, {
              parent: networkFolderOf(join(deps.workspacesDir, session.id)),
              certificate: authority?.certificate,
            })
          } catch (error) {
            await proxy.close()
            throw error
          }
        },
      }
    },
  }
}

/** For policies without intercepted hosts. */
const noContext = (host: string): never => {
  throw new Error(`the network has no certificate authority for ${host} (bug)`)
}

interface Linking {
  readonly parent: string
  /** An authority that the programs in the sandbox trust besides those of the system. */
  readonly certificate: string | undefined
}

/** Listens in a new folder below `parent`, which is deleted on close. */
async function linkTo(proxy: EgressProxy, { parent, certificate }: Linking): Promise<NetworkLink> {
  await mkdir(parent, { recursive: true, mode: 0o700 })
  const folder = await mkdtemp(join(parent, 'link-'))
  // The user of the sandbox must reach the socket; `parent` keeps others out.
  await chmod(folder, 0o755)
  const handle = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    if (certificate !== undefined) await writeBundle(folder, certificate)
    await listen(proxy.server, `${pathOf(handle)}/${proxySocket}`)
  } catch (error) {
    await handle.close()
    throw error
  }
  return {
    folder,
    certificates: certificate === undefined ? [] : bundleFiles,
    env: certificate === undefined ? variables : { ...variables, ...bundleVariables },
    async close() {
      await proxy.close()
      // On close the server removes its socket by the path through the handle.
      await handle.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

const proxyUrl = `http://127.0.0.1:${proxyPort}`
const local = 'localhost,127.0.0.1,::1'

/** Programs read different spellings. Node reads them only with NODE_USE_ENV_PROXY. */
const variables: Readonly<Record<string, string>> = {
  http_proxy: proxyUrl,
  https_proxy: proxyUrl,
  HTTP_PROXY: proxyUrl,
  HTTPS_PROXY: proxyUrl,
  no_proxy: local,
  NO_PROXY: local,
  NODE_USE_ENV_PROXY: '1',
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ path, readableAll: true, writableAll: true, exclusive: true }, () => {
      server.off('error', reject)
      resolve()
    })
  })
}
