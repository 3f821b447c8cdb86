import { createHash } from 'node:crypto'

/** Many clients and models allow no longer names of tools. */
const maxLength = 64
const hashLength = 8
const cutLength = maxLength - hashLength - 1

/** Returns the name of a tool among those of all servers: `server__tool`; a long one is cut and ends with a hash. */
export function aggregateName(server: string, tool: string): string {
  const name = `${server}__${tool}`
  if (name.length <= maxLength) return name
  const hash = createHash('sha256').update(name).digest('hex').slice(0, hashLength)
  return `${name.slice(0, cutLength)}_${hash}`
}

/** True if the name can be that of a tool of the server. */
export const mayBeOf = (server: string, name: string): boolean => name.startsWith(`${server}__`.slice(0, cutLength))
