import { readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import type { Log } from '../../platform/log.ts'
import type { Cluster } from './cluster.ts'
import type { Owner } from './objects.ts'
import { digestOf } from './slots.ts'

/** Returns the identity of this process. */
export async function ownerOfThis(): Promise<Owner> {
  return { host: digestOf(hostname()), process: (await processOf(process.pid)) ?? String(process.pid) }
}

/** Returns the id and start time of a running process, so that a later one with the same id is another one. */
async function processOf(pid: number): Promise<string | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  // The second field is the name of the program, which may contain blanks; the start time is field 22.
  const startTime = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
  return startTime && `${pid}-${startTime}`
}

/** Deletes the sandboxes of servers on this host that have ended. Those of other hosts expire. */
export async function removeLeftovers(cluster: Cluster, owner: Owner, log: Pick<Log, 'info'>): Promise<void> {
  let count = 0
  for (const { name, process } of await cluster.listOf(owner)) {
    if ((await processOf(Number.parseInt(process, 10))) === process) continue
    await cluster.remove(name)
    count += 1
  }
  if (count > 0) log.info({ count }, 'deleted sandboxes of a server that has ended')
}
