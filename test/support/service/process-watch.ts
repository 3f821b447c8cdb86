import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'

export interface Watched {
  readonly pid: number
  /** Connections to it are counted; other sockets of the process, such as those to the database, come and go. */
  readonly port: number
}

export interface Seen {
  /** Resident memory. */
  readonly mb: number
  readonly sockets: number
}

const everyMs = 250
const { pid, port } = workerData as Watched

function residentMb(): number {
  const [, kb] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kb) / 1_024
}

function socketCount(): number {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const tables = ['tcp', 'tcp6'].flatMap(name => readFileSync(`/proc/net/${name}`, 'utf8').trim().split('\n').slice(1))
  const rows = tables.map(line => line.trim().split(/\s+/))
  const inodes = new Set(rows.filter(([, address]) => address?.endsWith(local)).map(row => row[9]))
  const folder = `/proc/${pid}/fd`
  return readdirSync(folder).filter(name => {
    try {
      return inodes.has(/^socket:\[(\d+)\]$/.exec(readlinkSync(`${folder}/${name}`))?.[1])
    } catch {
      return false
    }
  }).length
}

setInterval(() => {
  try {
    parentPort?.postMessage({ mb: residentMb(), sockets: socketCount() } satisfies Seen)
  } catch {
    // The process has ended.
  }
}, everyMs)
