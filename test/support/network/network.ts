import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { createEgress } from '../../../src/server/egress/egress.ts'
import type { EgressSession, InnerHost } from '../../../src/server/egress/inner-host.ts'
import { createOutbound, type Lookup, type Outbound } from '../../../src/server/platform/outbound.ts'
import { buildConnector } from '../../../src/server/platform/undici.ts'
import type { DriverSettings } from '../../../src/server/sandboxes/choose-driver.ts'
import type { SandboxDriverName } from '../../../src/server/sandboxes/sandbox.ts'
import { createSandboxes, type Sandboxes } from '../../../src/server/sandboxes/sandboxes.ts'
import { quiet } from '../../../src/server/sandboxes/sandboxes-for-tests.ts'

interface Settings {
  readonly driver?: SandboxDriverName
  /** Names that lead to loopback. */
  readonly names?: readonly string[]
  readonly lookup?: Lookup
  readonly innerHosts?: readonly InnerHost[]
  readonly allowUnrestricted?: boolean
  /** Vault entries of every session. */
  readonly vault?: Readonly<Record<string, string>>
  /** Authority of the certificates of servers at those names, in PEM. */
  readonly ca?: string
  /** For drivers that need settings; may depend on the folder of the workspaces. */
  readonly settingsFor?: (workspacesDir: string) => Promise<DriverSettings | undefined>
}

/** Returns sandboxes whose network passes the proxy, and the lines that it logs. */
export async function networkForTests({
  driver = 'bubblewrap',
  names = [],
  lookup,
  innerHosts = [],
  allowUnrestricted = false,
  vault = {},
  ca,
  settingsFor,
}: Settings) {
  const workspacesDir = await mkdtemp(join(tmpdir(), 'switchyard-test-'))
  const lines: Readonly<Record<string, unknown>>[] = []
  const log = { ...quiet, info: (line: object) => void lines.push({ ...line }) }
  const checked = createOutbound({ allow: [], ...(lookup && { lookup }) })
  const outbound: Pick<Outbound, 'connect'> = {
    connect(timeoutMs) {
      const [open, guarded] = [
        buildConnector({ timeout: timeoutMs, ...(ca !== undefined && { ca }) }),
        checked.connect(timeoutMs),
      ]
      return (options, done) =>
        names.includes(options.hostname)
          ? open({ ...options, hostname: '127.0.0.1', servername: options.hostname }, done)
          : guarded(options, done)
    },
  }
  const secretReader = () => async (name: string) => vault[name]
  const { networkOf } = createEgress({ workspacesDir, outbound, innerHosts, secretReader, allowUnrestricted, log })
  let sandboxes: Sandboxes | undefined
  // Hooks run in order: what `settingsFor` starts must still run then.
  after(async () => {
    await sandboxes?.stopAll()
    await rm(workspacesDir, { recursive: true, force: true })
  })
  const settings = await settingsFor?.(workspacesDir)
  sandboxes = await createSandboxes({
    workspacesDir,
    log: quiet,
    prefer: driver,
    networkOf,
    ...(settings && { settings }),
  })
  return {
    workspacesDir,
    lines,
    sandboxes,
    networkOf,
    /** Runs a command in a session with this `config.network`. */
    async run(network: unknown, command: string, id = 'ses_one') {
      const sandbox = await sandboxes.open(id, sessionWith(network, id))
      const { output, exitCode } = await sandbox.exec({ command, timeoutMs: 60_000 })
      return { output, exitCode }
    },
  }
}

/** Returns a session with this `config.network`. */
export const sessionWith = (network: unknown, id = 'ses_one'): EgressSession => ({
  id,
  owner_id: 'user-1',
  agent_id: 'agt_one',
  config: { network },
  environment: {},
})

/** Starts an HTTP server on loopback that is closed after the last test; returns `127.0.0.1:port`. */
export async function upstreamForTests(listener: RequestListener): Promise<{ host: string; port: number }> {
  const server = createServer(listener)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { host: `127.0.0.1:${port}`, port }
}
