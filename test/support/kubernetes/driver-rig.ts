import { chown, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { after } from 'node:test'
import { type KubernetesDriverSettings, kubernetesDriver } from '../../../src/server/sandboxes/kubernetes/driver.ts'
import { type SandboxDriver, sandboxLimits } from '../../../src/server/sandboxes/sandbox.ts'
import { quiet, runnerOf, temporaryFolder } from '../../../src/server/sandboxes/sandboxes-for-tests.ts'
import { type FakeApiServer, startFakeApiServer } from './fake-api-server.ts'

const MiB = 1024 * 1024

const rigLimits = {
  ...sandboxLimits,
  processes: 64,
  fileBytes: 2 * MiB,
  totalOutputBytes: 16 * MiB,
  scratchBytes: 64 * MiB,
  graceMs: 300,
}

type More = Partial<KubernetesDriverSettings>

/** A driver on a fake cluster, with one workspace. */
export interface KubernetesRig {
  readonly fake: FakeApiServer
  readonly driver: SandboxDriver
  readonly folder: string
  readonly run: ReturnType<typeof runnerOf>
  /** Returns the names of all pods. */
  pods(): string[]
  /** Starts a second driver on the same cluster. */
  open(more?: More): Promise<SandboxDriver>
}

/** Starts a fake cluster; `open` starts the driver on it. */
export async function startCluster({ isIsolated = true }: { isIsolated?: boolean } = {}) {
  const volume = await temporaryFolder()
  const fake = await startFakeApiServer({ volume, isIsolated })
  /** Called before the cluster ends. */
  const endings: (() => Promise<void> | undefined)[] = []
  after(async () => {
    for (const end of endings) await end()
    await fake.close()
  })
  const open = ({ times, ...more }: More = {}) =>
    kubernetesDriver({
      settings: fake.settings,
      image: 'debian:13',
      limits: rigLimits,
      workspacesDir: volume,
      log: quiet,
      times: { endMs: 3_000, retryMs: 2_000, policyMs: 500, ...times },
      ...more,
    })
  return { fake, volume, open, endings }
}

export async function newRig(more: More = {}): Promise<KubernetesRig> {
  const { fake, volume, open, endings } = await startCluster()
  const driver = await open(more)
  const folder = join(volume, 'ses_1')
  await mkdir(folder)
  if (driver.owner !== undefined) await chown(folder, driver.owner, driver.owner)
  endings.push(() => driver.close?.())
  const pods = () => fake.cluster.list('pods').map(({ metadata }) => metadata.name)
  return { fake, driver, folder, run: runnerOf({ driver, folder }), pods, open }
}
