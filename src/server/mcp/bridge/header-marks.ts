import { isRecord, type Json, listOf, nonEmptyText, recordOf } from '../../platform/json.ts'
import { Recent } from '../../platform/recent.ts'
import { hasMarks, hasValidMarks } from '../client/mirrored-headers.ts'
import type { RegisteredServer } from '../registry/server.ts'

const maxSchemas = 2_000
const maxPages = 50

/**
 * Schemas of tools whose parameters modern servers want in headers too. They are known from the lists of tools that
 * pass; legacy clients do not send these headers.
 */
export function createHeaderMarks() {
  const schemas = new Recent<unknown>(maxSchemas)
  const keyOf = ({ server_id, version, url }: RegisteredServer, name: unknown) =>
    JSON.stringify([server_id, version, url, name])

  /** Remembers the marked tools of a list, and returns it without tools whose marks break the rules. */
  function noted(server: RegisteredServer, result: Json): Json {
    const tools = listOf(result['tools']).filter(tool => isRecord(tool) && hasValidMarks(tool['inputSchema']))
    for (const tool of tools.filter(isRecord))
      if (hasMarks(tool['inputSchema'])) schemas.set(keyOf(server, tool['name']), tool['inputSchema'])
    return { ...result, tools }
  }

  return {
    noted,

    /** Returns the schema of a tool if it is marked. */
    schemaOf: (server: RegisteredServer, params: Json): unknown => schemas.get(keyOf(server, params['name'])),

    /** Reads the whole list of a server again. */
    async refresh(server: RegisteredServer, listPage: (params: Json) => Promise<Json>): Promise<void> {
      let cursor: string | undefined
      for (let page = 0; page < maxPages; page++) {
        const result = recordOf(await listPage(cursor === undefined ? {} : { cursor }))
        noted(server, result)
        cursor = nonEmptyText(result['nextCursor'])
        if (cursor === undefined) return
      }
    },
  }
}
