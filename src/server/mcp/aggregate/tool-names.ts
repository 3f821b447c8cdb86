import { cutNameLength } from '../../tools/mcp-toolset.ts'

/** True if the name can be that of a tool of the server. */
export const mayBeOf = (server: string, name: string): boolean => name.startsWith(`${server}__`.slice(0, cutNameLength))
