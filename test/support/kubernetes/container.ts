import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, lstatSync, readFileSync, readlinkSync } from 'node:fs'
import { type Json, listOf, recordOf, recordsOf, textOf } from '../../../src/server/platform/json.ts'
import { pause } from '../../../src/server/platform/timers.ts'

interface Settings {
  readonly spec: Json
  /** Folder of this machine for a volume with a claim. */
  readonly volumeOf: (claim: string) => string
  /** False: the network policies have no effect. */
  readonly isIsolated: boolean
}

/** Real processes in a process namespace of their own, as the container of a pod has them. */
export interface Container {
  /** Starts a command in the container, as the exec of a container runtime does. */
  exec(command: readonly string[], withErrors: boolean): ChildProcess
  /** Sends SIGTERM to process 1, and SIGKILL after the grace period. */
  stop(graceMs: number): Promise<void>
  /** Kills process 1, and with it all others. */
  kill(): void
  /** Exit code of process 1. */
  readonly exited: Promise<number>
}

const isRoot = process.getuid?.() === 0

/** Starts process 1 of the first container of a pod. Only what the pod's specification grants is there. */
export async function startContainer({ spec, volumeOf, isIsolated }: Settings): Promise<Container> {
  const [container = {}] = recordsOf(spec['containers'])
  const user = Number(recordOf(spec['securityContext'])['runAsUser'])
  const env = Object.fromEntries(recordsOf(container['env']).map(({ name, value }) => [textOf(name), textOf(value)]))
  const args = [
    ...(isRoot ? [] : ['--unshare-user', '--uid', String(user), '--gid', String(user)]),
    ...['--unshare-pid', '--unshare-ipc', '--unshare-uts', '--as-pid-1', '--die-with-parent', '--new-session'],
    ...(isIsolated ? ['--unshare-net'] : []),
    ...systemFolders(),
    ...['/etc', '/home', '/run'].flatMap(path => ['--perms', '0755', '--dir', path]),
    ...['--ro-bind-try', '/etc/alternatives', '/etc/alternatives'],
    ...['--proc', '/proc', '--dev', '/dev'],
    ...mounts(spec, container, volumeOf),
    ...(recordOf(container['securityContext'])['readOnlyRootFilesystem'] === true
      ? ['--remount-ro', '/dev', '--remount-ro', '/']
      : []),
    ...(isRoot ? rights : []),
    ...['--', ...identity(user), ...words(container['command'])],
  ]
  const path = { PATH: '/usr/local/bin:/usr/bin:/bin' }
  const child = spawn('bwrap', args, { env: { ...path, ...env }, stdio: ['ignore', 'ignore', 'inherit'] })
  const exited = once(child, 'exit').then(([code]) => Number(code ?? 137))
  const first = await processOne(child)
  return {
    exec(command, withErrors) {
      const entering = [
        '-t',
        String(first),
        '-m',
        '-p',
        '-n',
        '-i',
        '-u',
        ...(isRoot ? [] : ['-U', '--preserve-credentials']),
      ]
      return spawn('nsenter', [...entering, '--', ...identity(user), ...command], {
        env: { ...path, ...env },
        stdio: ['pipe', 'pipe', withErrors ? 'pipe' : 'ignore'],
      })
    },
    async stop(graceMs) {
      send(first, 'SIGTERM')
      const late = setTimeout(() => send(first, 'SIGKILL'), graceMs)
      await exited
      clearTimeout(late)
    },
    kill: () => send(first, 'SIGKILL'),
    exited,
  }
}

const words = (list: unknown): string[] => listOf(list).map(textOf)

const rights = ['SETUID', 'SETGID', 'SETPCAP'].flatMap(name => ['--cap-add', `CAP_${name}`])

/** A container runtime changes the user and drops all capabilities before it executes a command. */
const identity = (user: number): string[] =>
  isRoot
    ? [
        ...['setpriv', `--reuid=${user}`, `--regid=${user}`, '--clear-groups', '--no-new-privs'],
        ...['--inh-caps=-all', '--bounding-set=-all'],
      ]
    : ['setpriv', '--no-new-privs']

function systemFolders(): string[] {
  return ['/usr', '/bin', '/sbin', '/lib', '/lib64'].flatMap(path => {
    if (!existsSync(path)) return []
    return lstatSync(path).isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path]
  })
}

function mounts(spec: Json, container: Json, volumeOf: (claim: string) => string): string[] {
  const volumes = new Map(recordsOf(spec['volumes']).map(volume => [textOf(volume['name']), volume]))
  const mounted = recordsOf(container['volumeMounts'])
  return mounted.flatMap(({ name, mountPath, subPath }) => {
    const volume = volumes.get(textOf(name)) ?? {}
    const path = textOf(mountPath)
    const claim = textOf(recordOf(volume['persistentVolumeClaim'])['claimName'])
    if (claim !== '') return ['--bind', `${volumeOf(claim)}/${textOf(subPath)}`, path]
    const size = textOf(recordOf(volume['emptyDir'])['sizeLimit'])
    return ['--perms', '1777', '--size', size, '--tmpfs', path]
  })
}

async function processOne({ pid }: ChildProcess): Promise<number> {
  for (let attempt = 0; attempt < 500; attempt++) {
    try {
      const found = Number.parseInt(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8'), 10)
      // Until then it is bubblewrap, which prepares the mounts.
      if (found && readFileSync(`/proc/${found}/comm`, 'utf8').trim() === 'sh') return found
    } catch {
      // It has not started yet.
    }
    await pause(5)
  }
  throw new Error('container did not start')
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has exited.
  }
}
