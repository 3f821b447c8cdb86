import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Duplex } from 'node:stream'
import { type Cgroup, findCgroups, makeCgroup } from '../../../src/server/sandboxes/cgroup.ts'
import { sandboxLimits } from '../../../src/server/sandboxes/sandbox.ts'
import type { ContainerBody } from './bodies.ts'

/** A container of the fake: a bubblewrap sandbox over the system of this machine. */
export interface FakeContainer {
  readonly id: string
  readonly name: string
  readonly body: ContainerBody
  /** Folder of the changes that its image has made, and that it may make itself during a set-up. */
  readonly layer: string
  /** Undefined before its start. */
  process: ChildProcess | undefined
  /** Connection of its attached client. */
  client: Duplex | undefined
  exit: { readonly code: number; readonly isOutOfMemory: boolean } | undefined
  readonly ended: Promise<void>
  readonly end: () => void
}

const environment = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' }
const joinAndBecome = 'for file in $1; do echo $$ > "$file" || exit 125; done; shift; exec "$@"'

interface Start {
  /** Process 1 of the container whose network is shared. */
  readonly networkPid: number | undefined
}

/** Starts process 1 and connects the attached client. */
export async function startProcess(container: FakeContainer, { networkPid }: Start): Promise<void> {
  const { HostConfig: host } = container.body
  const limits = {
    ...sandboxLimits,
    memoryBytes: host.Memory,
    processes: host.PidsLimit,
    cpus: host.NanoCpus / 1e9,
  }
  const places = await findCgroups(limits)
  const cgroup = places && (await makeCgroup(places, limits))
  const fileBytes = host.Ulimits.find(({ Name }) => Name === 'fsize')?.Soft
  const command = [
    ...(networkPid === undefined ? [] : ['nsenter', `--net=/proc/${networkPid}/ns/net`]),
    ...['prlimit', `--fsize=${fileBytes}`, '--core=0', 'bwrap'],
    ...bwrapArguments(container, networkPid === undefined),
  ]
  const child = spawn('/bin/sh', ['-c', joinAndBecome, 'sh', cgroup?.joinFiles.join(' ') ?? '', ...command], {
    env: { PATH: environment.PATH },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  container.process = child
  child.stdin?.on('error', () => undefined)
  connectClient(container, child)
  void finish(container, child, cgroup)
  await once(child, 'spawn')
}

async function finish(container: FakeContainer, child: ChildProcess, cgroup: Cgroup | undefined): Promise<void> {
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null]
  const isOutOfMemory = cgroup !== undefined && (await hadOutOfMemory(cgroup))
  await cgroup?.remove()
  container.exit = { code: code ?? (signal === 'SIGKILL' ? 137 : 143), isOutOfMemory }
  container.client?.end()
  container.end()
}

async function hadOutOfMemory({ joinFiles }: Cgroup): Promise<boolean> {
  const folder = dirname(joinFiles[0] ?? '')
  for (const name of ['memory.events', 'memory.oom_control']) {
    const text = await readFile(join(folder, name), 'utf8').catch(() => '')
    if (/^oom_kill [1-9]/m.test(text)) return true
  }
  return false
}

/** The client gets frames; its end closes the standard input, as with `StdinOnce`. */
function connectClient({ client }: FakeContainer, child: ChildProcess): void {
  if (!client) return
  for (const [at, stream] of [child.stdout, child.stderr].entries()) {
    stream?.on('data', (part: Buffer) => {
      const header = Buffer.alloc(8)
      header[0] = at + 1
      header.writeUInt32BE(part.length, 4)
      if (client.destroyed || client.write(Buffer.concat([header, part]))) return
      stream.pause()
      client.once('drain', () => stream.resume())
    })
  }
  client.once('close', () => {
    child.stdout?.resume()
    child.stderr?.resume()
  })
  client.on('data', (part: Buffer) => child.stdin?.write(part))
  for (const name of ['end', 'close']) client.once(name, () => child.stdin?.end())
}

/** Returns process 1 on this machine. */
export function processOne({ process: child }: FakeContainer): number | undefined {
  try {
    return Number.parseInt(readFileSync(`/proc/${child?.pid}/task/${child?.pid}/children`, 'utf8'), 10) || undefined
  } catch {
    return undefined
  }
}

/** Kills all processes of a container. */
export function killProcesses(container: FakeContainer): void {
  const first = processOne(container)
  if (first === undefined) container.process?.kill('SIGKILL')
  else process.kill(first, 'SIGKILL')
}

/** Runs a process beside process 1, as the user of the container. */
export async function execIn(container: FakeContainer, command: readonly string[]): Promise<void> {
  const first = processOne(container)
  if (first === undefined) return
  const [uid = '0', gid = '0'] = container.body.User.split(':')
  const become = ['setpriv', '--reuid', uid, '--regid', gid, '--clear-groups']
  const child = spawn('nsenter', ['-t', String(first), '--pid', ...become, ...command], { env: environment })
  await once(child, 'close')
}

function bwrapArguments({ body, layer }: FakeContainer, hasOwnNetwork: boolean): string[] {
  const { HostConfig: host } = body
  const isWritable = !host.ReadonlyRootfs
  const [uid = '0', gid = '0'] = body.User.split(':')
  const variables = [...Object.entries(environment), ...body.Env.map(pairOf)]
  return [
    ...['--unshare-ipc', '--unshare-pid', '--unshare-uts', '--unshare-cgroup-try'],
    ...(hasOwnNetwork ? ['--unshare-net'] : []),
    ...['--die-with-parent', '--new-session', '--as-pid-1', '--clearenv', '--hostname', body.Hostname ?? 'shared'],
    ...variables.flatMap(([name, value]) => ['--setenv', name, value]),
    ...['--ro-bind', '/usr', '/usr', '--symlink', 'usr/bin', '/bin', '--symlink', 'usr/sbin', '/sbin'],
    ...['--symlink', 'usr/lib', '/lib', '--symlink', 'usr/lib64', '/lib64', '--dir', '/etc'],
    ...['/etc/alternatives', '/etc/ld.so.cache', '/etc/ssl'].flatMap(path => ['--ro-bind-try', path, path]),
    ...['--proc', '/proc', '--ro-bind', '/proc/sys', '/proc/sys', '--dev', '/dev'],
    ...['--perms', '1777', '--size', String(host.ShmSize), '--tmpfs', '/dev/shm'],
    ...[isWritable ? '--bind' : '--ro-bind', layer, '/opt'],
    ...(isWritable ? ['--tmpfs', '/root'] : ['--dir', '/root']),
    ...Object.entries(host.Tmpfs ?? { '/tmp': 'size=1000000' }).flatMap(([path, options]) => [
      ...['--perms', '1777', '--size', /size=(\d+)/.exec(options)?.[1] ?? '1000000', '--tmpfs', path],
    ]),
    ...host.Mounts.flatMap(({ Source, Target, ReadOnly }) => [
      ...foldersAbove(Target).flatMap(path => ['--perms', '0755', '--dir', path]),
      ...[ReadOnly ? '--ro-bind' : '--bind', Source, Target],
    ]),
    ...['--remount-ro', '/', '--cap-drop', 'ALL'],
    ...(uid === '0' ? [] : ['SETUID', 'SETGID', 'SETPCAP'].flatMap(name => ['--cap-add', `CAP_${name}`])),
    ...(uid === '0'
      ? ['--']
      : ['--', 'setpriv', '--reuid', uid, '--regid', gid, '--clear-groups', '--inh-caps=-all', '--bounding-set=-all']),
    // Only now as the user of the container, who alone may enter the folder.
    ...['/bin/sh', '-c', 'cd "$0" || exit 125; exec "$@"', body.WorkingDir ?? '/'],
    ...body.Entrypoint,
    ...body.Cmd,
  ]
}

const foldersAbove = (path: string): string[] =>
  path.split('/').flatMap((_, at, names) => (at > 1 ? [names.slice(0, at).join('/')] : []))

function pairOf(variable: string): [name: string, value: string] {
  const at = variable.indexOf('=')
  return [variable.slice(0, at), variable.slice(at + 1)]
}
