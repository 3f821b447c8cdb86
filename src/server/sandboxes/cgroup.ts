import { randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { pause } from '../platform/timers.ts'
import type { SandboxLimits } from './sandbox.ts'

/**
 * Folders in which groups can be created: one for version 2, one per controller for version 1. `cpu`: processors are
 * limited.
 */
export type CgroupPlaces =
  | { readonly version: 2; readonly folder: string; readonly cpu: boolean }
  | { readonly version: 1; readonly memory: string; readonly pids: string; readonly cpu: string | undefined }

/** A control group for one command. */
export interface Cgroup {
  /** Files to which a process writes its id to join. */
  readonly joinFiles: readonly string[]
  /** Removes the group once it is empty. */
  remove(): Promise<void>
}

const prefix = 'switchyard-'

/**
 * Returns where this process may create groups, best first, from /proc/self/cgroup and /proc/self/mountinfo. Version 2
 * does not allow processes and controllers in one group, so groups are created next to our own one, or below the root.
 */
export function cgroupPlaces(membership: string, mountinfo: string): CgroupPlaces[] {
  const mounts = mountinfo.split('\n').flatMap(line => {
    const [before = '', after = ''] = line.split(' - ')
    const [, , , root = '/', at = ''] = before.split(' ')
    const [type = '', , options = ''] = after.split(' ')
    return type.startsWith('cgroup') ? [{ type, root, at, controllers: options.split(',') }] : []
  })
  const groups = membership.split('\n').map(line => line.split(':'))
  const below = (mount: { root: string; at: string }, group: string) =>
    resolve(mount.at, `.${mount.root !== '/' && group.startsWith(mount.root) ? group.slice(mount.root.length) : group}`)
  const folderOf = (controller: string) => {
    const mount = mounts.find(({ type, controllers }) => type === 'cgroup' && controllers.includes(controller))
    const group = groups.find(([, controllers = '']) => controllers.split(',').includes(controller))?.[2]
    return mount && group !== undefined ? below(mount, group) : undefined
  }

  const places: CgroupPlaces[] = []
  const unified = mounts.find(({ type }) => type === 'cgroup2')
  const own = groups.find(([id, controllers]) => id === '0' && controllers === '')?.[2]
  if (unified && own !== undefined) {
    const folder = below(unified, own)
    const place = { version: 2, folder: folder === unified.at ? folder : dirname(folder) } as const
    places.push({ ...place, cpu: true }, { ...place, cpu: false })
  }
  const [memory, pids, cpu] = [folderOf('memory'), folderOf('pids'), folderOf('cpu')]
  if (memory && pids && cpu) places.push({ version: 1, memory, pids, cpu })
  if (memory && pids) places.push({ version: 1, memory, pids, cpu: undefined })
  return places
}

/** Creates a group with the limits. Rejects without permission or when a controller is missing. */
export async function makeCgroup(places: CgroupPlaces, limits: SandboxLimits): Promise<Cgroup> {
  const name = `${prefix}${process.pid}-${randomUUID()}`
  const folders = foldersOf(places).map(folder => join(folder, name))
  const remove = async () => {
    for (const folder of folders) await removeGroup(folder)
  }
  try {
    for (const folder of folders) await mkdir(folder)
    for (const [file, value] of settings(places, limits)) await setValue(file.replace('*', name), value)
  } catch (error) {
    await remove()
    throw error
  }
  // Also limits swap where the kernel counts it; otherwise the file does not exist.
  const swap = places.version === 2 ? ['memory.swap.max', 0] : ['memory.memsw.limit_in_bytes', limits.memoryBytes]
  await setValue(join(folders[0] ?? '', String(swap[0])), Number(swap[1])).catch(() => undefined)
  return { joinFiles: folders.map(folder => join(folder, 'cgroup.procs')), remove }
}

/** Fails when the kernel did not create the file, so that a missing limit is noticed. */
const setValue = (file: string, value: number | string) => writeFile(file, String(value), { flag: 'r+' })

const foldersOf = (places: CgroupPlaces): string[] =>
  places.version === 2 ? [places.folder] : [places.memory, places.pids, ...(places.cpu ? [places.cpu] : [])]

/** Length of the period in which the kernel measures the quota. */
const periodUs = 100_000

const settings = (places: CgroupPlaces, limits: SandboxLimits): [file: string, value: number | string][] =>
  places.version === 2
    ? [
        ...cpuSettings(places, limits),
        [`${places.folder}/*/memory.max`, limits.memoryBytes],
        [`${places.folder}/*/pids.max`, limits.processes],
        [`${places.folder}/*/memory.oom.group`, 1],
      ]
    : [
        ...cpuSettings(places, limits),
        [`${places.memory}/*/memory.limit_in_bytes`, limits.memoryBytes],
        [`${places.pids}/*/pids.max`, limits.processes],
      ]

/** Sets a quota, and half of the default weight: when all processors are busy, the service takes precedence. */
function cpuSettings(places: CgroupPlaces, { cpus }: SandboxLimits): [file: string, value: number | string][] {
  const quotaUs = Math.round(cpus * periodUs)
  if (places.version === 2) {
    if (!places.cpu) return []
    return [
      [`${places.folder}/*/cpu.max`, `${quotaUs} ${periodUs}`],
      [`${places.folder}/*/cpu.weight`, 50],
    ]
  }
  if (places.cpu === undefined) return []
  return [
    [`${places.cpu}/*/cpu.cfs_period_us`, periodUs],
    [`${places.cpu}/*/cpu.cfs_quota_us`, quotaUs],
    [`${places.cpu}/*/cpu.shares`, 512],
  ]
}

/** Retries, since the kernel may take a moment until a group without processes counts as empty. */
async function removeGroup(folder: string): Promise<void> {
  for (let attempt = 0; attempt < 50; attempt++) {
    try {
      return await rmdir(folder)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EBUSY') return
      await pause(20)
    }
  }
}

/**
 * Returns the first place where groups can be created, after cleaning up after killed servers; undefined when there is
 * none.
 */
export async function findCgroups(limits: SandboxLimits): Promise<CgroupPlaces | undefined> {
  const read = (file: string) => readFile(file, 'utf8').catch(() => '')
  for (const places of cgroupPlaces(await read('/proc/self/cgroup'), await read('/proc/self/mountinfo'))) {
    try {
      await sweep(places)
      await (await makeCgroup(places, limits)).remove()
      return places
    } catch {
      // No permission, or a controller is missing: try the next place, else only limits per process apply.
    }
  }
  return undefined
}

async function sweep(places: CgroupPlaces): Promise<void> {
  for (const folder of foldersOf(places)) {
    for (const name of await readdir(folder)) {
      const owner = name.startsWith(prefix) ? Number.parseInt(name.slice(prefix.length), 10) : 0
      if (owner > 0 && !isAlive(owner)) await clear(join(folder, name))
    }
  }
}

/** Kills what a killed server left. Processes of another container read as 0; such a group is skipped. */
async function clear(folder: string): Promise<void> {
  const left = await readFile(join(folder, 'cgroup.procs'), 'utf8').catch(() => '')
  const pids = left.split('\n').map(Number)
  if (left !== '' && pids.slice(0, -1).includes(0)) return
  for (const pid of pids) if (pid > 0 && isAlive(pid)) process.kill(pid, 'SIGKILL')
  await removeGroup(folder)
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
