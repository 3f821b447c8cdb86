import { readdirSync, readFileSync } from 'node:fs'

/** Command lines of the processes that name the folder, ours left out. */
export function processesOf(folder: string): string[] {
  const read = (file: string) => {
    try {
      return readFileSync(file, 'utf8').replaceAll('\0', ' ')
    } catch {
      return ''
    }
  }
  const pids = readdirSync('/proc').filter(name => /^\d+$/.test(name) && Number(name) !== process.pid)
  return pids.flatMap(pid => {
    const command = read(`/proc/${pid}/cmdline`)
    return command.includes(folder) || read(`/proc/${pid}/environ`).includes(folder) ? [`${pid} ${command}`] : []
  })
}
