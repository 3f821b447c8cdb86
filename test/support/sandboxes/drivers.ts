import { chown, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { bubblewrapDriver } from '../../../src/server/sandboxes/bubblewrap.ts'
import { dockerDriver } from '../../../src/server/sandboxes/docker/docker.ts'
import type { SandboxDriver, SandboxDriverName, SandboxLimits } from '../../../src/server/sandboxes/sandbox.ts'
import { temporaryFolder } from '../../../src/server/sandboxes/sandboxes-for-tests.ts'
import { virtualDriver } from '../../../src/server/sandboxes/virtual.ts'
import { dockerForTests, lackEngine } from '../docker/docker-for-tests.ts'
import { startCluster } from '../kubernetes/driver-rig.ts'
import { lack } from '../service/lack.ts'

/** A driver that the suite of drivers tests. */
export interface Subject {
  readonly name: SandboxDriverName
  /** Why it cannot run here. */
  readonly skip: string | false
  /** False for the simulated shell: it has no processes, so nothing can be left of one. */
  readonly isReal: boolean
  /** False for a fake cluster: it does not limit processes, memory and processors. */
  readonly hasGroups: boolean
  create(limits: SandboxLimits): Promise<SandboxDriver>
  /** Returns a new folder that the driver can use as a workspace. */
  createFolder(driver: SandboxDriver): Promise<string>
  /** Statements of a program that creates it as `driver`; arguments from 3 on are `creationArguments`. */
  readonly creation: string
  readonly creationArguments: readonly string[]
}

const addressOf = (file: string) =>
  JSON.stringify(new URL(`../../../src/server/sandboxes/${file}`, import.meta.url).href)
const skip = lack('bubblewrap')

async function given(folder: string, { owner }: SandboxDriver): Promise<string> {
  if (owner !== undefined) await chown(folder, owner, owner)
  return folder
}

const createFolder = async (driver: SandboxDriver) => given(await temporaryFolder(), driver)

const bubblewrap = (): Subject => ({
  name: 'bubblewrap',
  skip,
  isReal: true,
  hasGroups: true,
  create: limits => bubblewrapDriver(limits),
  createFolder,
  creation: `
    import { bubblewrapDriver } from ${addressOf('bubblewrap.ts')}
    const driver = await bubblewrapDriver(sandboxLimits)`,
  creationArguments: [],
})

/** The containers of the fake engine are bubblewrap sandboxes. */
async function docker(): Promise<Subject> {
  const { settings: given } = await dockerForTests()
  const { image, docker: settings } = given
  const workspacesDir = await temporaryFolder()
  return {
    name: 'docker',
    skip: false,
    isReal: true,
    hasGroups: true,
    create: limits => dockerDriver({ limits, image, settings, workspacesDir }),
    createFolder,
    creation: `
      import { dockerDriver } from ${addressOf('docker/docker.ts')}
      const [, , , text, workspacesDir] = process.argv
      const { image, docker: settings } = JSON.parse(text)
      const driver = await dockerDriver({ limits: sandboxLimits, image, settings, workspacesDir })`,
    creationArguments: [JSON.stringify(given), workspacesDir],
  }
}

/** The containers of the fake cluster are bubblewrap sandboxes without control groups. */
async function kubernetes(): Promise<Subject> {
  const { fake, volume, open, endings } = await startCluster()
  let folders = 0
  return {
    name: 'kubernetes',
    skip: false,
    isReal: true,
    hasGroups: false,
    async create(limits) {
      const driver = await open({ limits })
      endings.push(() => driver.close?.())
      return driver
    },
    async createFolder(driver) {
      const folder = join(volume, `ses_${++folders}`)
      await mkdir(folder)
      return await given(folder, driver)
    },
    creation: `
      import { kubernetesDriver } from ${addressOf('kubernetes/driver.ts')}
      const [, , , text, workspacesDir] = process.argv
      const log = { info() {}, warn() {} }
      const settings = JSON.parse(text)
      const driver = await kubernetesDriver({ limits: sandboxLimits, image: 'debian:13', settings, workspacesDir, log })`,
    creationArguments: [JSON.stringify(fake.settings), volume],
  }
}

const virtual = (): Subject => ({
  name: 'virtual',
  skip: false,
  isReal: false,
  hasGroups: false,
  create: async limits => virtualDriver(limits),
  createFolder,
  creation: '',
  creationArguments: [],
})

/** Starts what the drivers need; it ends after the last test of the file. */
export async function driversForTests(): Promise<readonly Subject[]> {
  const skipped = (name: SandboxDriverName, why: string): Subject => ({ ...bubblewrap(), name, skip: why })
  return [
    bubblewrap(),
    lackEngine ? skipped('docker', lackEngine) : await docker(),
    skip ? skipped('kubernetes', skip) : await kubernetes(),
    virtual(),
  ]
}
