import type { McpToolResult } from '../../../contract/mcp.ts'
import type { McpCallOutcome, McpCallVia } from '../../../contract/mcp-calls.ts'
import type { McpCallTable } from '../../db/tables/mcp.ts'
import type { Caller } from '../../http/caller.ts'
import { AppError } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import type { Log } from '../../platform/log.ts'
import { every } from '../../platform/timers.ts'
import type { RegisteredServer } from '../registry/server.ts'
import type { McpCallStore } from './store.ts'

export interface CalledTool {
  readonly server: Pick<RegisteredServer, 'server_id' | 'server_name'>
  readonly tool: string
  readonly by: Pick<Caller, 'key' | 'principal'>
  readonly via: McpCallVia
  readonly requestBytes: number
}

interface CallEnd {
  readonly outcome: McpCallOutcome
  readonly errorCode?: string | undefined
  readonly responseBytes: number
}

interface Deps {
  readonly store: Pick<McpCallStore, 'insert'>
  readonly log: Pick<Log, 'warn'>
}

const periodMs = 1_000
const batchSize = 500
/** Rows that are not written yet; more are dropped and counted in the log. */
const capacity = 10_000

/** Log of calls of tools. Rows are written in batches, at most a second later; a call never waits for them. */
export type McpCallLog = ReturnType<typeof createMcpCallLog>

export function createMcpCallLog({ store, log }: Deps) {
  let rows: McpCallTable[] = []
  let dropped = 0
  let writing: Promise<void> | undefined
  let stopFlushing = async (): Promise<void> => undefined

  async function write(): Promise<void> {
    while (rows.length > 0) {
      const batch = rows.slice(0, batchSize)
      try {
        await store.insert(batch)
      } catch (cause) {
        log.warn({ err: cause, rows: rows.length }, 'could not write the log of MCP calls; retrying')
        return
      }
      rows = rows.slice(batch.length)
    }
    if (dropped > 0) log.warn({ rows: dropped }, 'dropped rows of the log of MCP calls: the database was too slow')
    dropped = 0
  }

  async function flush(): Promise<void> {
    writing ??= write().finally(() => {
      writing = undefined
    })
    await writing
  }

  /** Starts the clock of a call; the returned function records its end. */
  function begin({ server, tool, by, via, requestBytes }: CalledTool): (end: CallEnd) => void {
    const created_at = new Date()
    const startMs = performance.now()
    return ({ outcome, errorCode, responseBytes }) => {
      if (rows.length >= capacity) {
        dropped++
        return
      }
      rows.push({
        id: newId('mcall'),
        created_at,
        server_id: server.server_id,
        server_name: server.server_name,
        tool: tool.slice(0, 200).replaceAll('\0', ''),
        via,
        principal: by.principal,
        key_id: by.key?.id ?? null,
        outcome,
        error_code: errorCode ?? null,
        ms: Math.round(performance.now() - startMs),
        request_bytes: requestBytes,
        response_bytes: responseBytes,
      })
      if (rows.length >= batchSize) void flush()
    }
  }

  return {
    begin,

    /** Runs a call and records it. */
    async recorded(called: CalledTool, work: () => Promise<McpToolResult>): Promise<McpToolResult> {
      const end = begin(called)
      try {
        const result = await work()
        const outcome = result.isError === true ? 'tool_error' : 'completed'
        end({ outcome, responseBytes: sizeOf(result) })
        return result
      } catch (error) {
        end({ outcome: 'failed', errorCode: error instanceof AppError ? error.code : 'internal', responseBytes: 0 })
        throw error
      }
    },

    /** Writes the rows of all calls that have ended. */
    flush,
    start(): void {
      stopFlushing = every(periodMs, flush)
    },
    async stop(): Promise<void> {
      await stopFlushing()
      await flush()
    },
  }
}

/** Returns the size of a value as JSON, in bytes. */
export const sizeOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? '')
