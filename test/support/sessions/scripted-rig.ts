import { after } from 'node:test'
import { Client } from 'pg'
import type { SessionEvent } from '../../../src/contract/events.ts'
import { freshDatabase } from '../service/database.ts'
import { sendOk } from '../service/send.ts'
import { startService } from '../service/service.ts'
import { configFor } from '../upstream/scripted-service.ts'
import { startScriptedUpstream } from '../upstream/scripted-upstream.ts'

/** A service that can crash, its scripted provider and its database; all end after the last test of the file. */
export async function startScriptedRig({ params = {}, mcpServers = [], allow = [] }: RigOptions = {}) {
  const upstream = await startScriptedUpstream()
  const { url: databaseUrl } = await freshDatabase()
  const config = configWith(configFor(upstream, ['scripted'], params), { mcpServers, allow })
  const options = { databaseUrl, config }
  let service = await startService(options)
  const database = new Client({ connectionString: databaseUrl })
  database.on('error', () => undefined)
  await database.connect()
  after(async () => {
    await database.end()
    await service.stop()
    await upstream.stop()
  })
  return {
    upstream,
    database,
    /** The process that serves now. */
    get service() {
      return service
    },
    /** Kills the service and starts it again on the same database. */
    async crash(): Promise<void> {
      await service.kill()
      service = await startService(options)
    },
    /** Sends a request and returns its answer; fails for an error. */
    ok: <T>(line: string, body?: unknown): Promise<T> => sendOk(service, line, { body }),
  }
}

interface RigOptions {
  /** Parameters of the model. */
  readonly params?: object
  /** Entries of `mcp_servers` in the configuration file. */
  readonly mcpServers?: readonly object[]
  /** Addresses that the service may call besides its provider. */
  readonly allow?: readonly string[]
}

function configWith(config: string, { mcpServers = [], allow = [] }: RigOptions): string {
  const { outbound, ...rest } = JSON.parse(config) as { outbound: { allow: string[] } }
  const hosts = allow.map(url => new URL(url).host)
  return JSON.stringify({ ...rest, mcp_servers: mcpServers, outbound: { allow: [...outbound.allow, ...hosts] } })
}

const stopReasonOf = (event: SessionEvent) =>
  event.type === 'session.status_idle' ? event.stop_reason.type : undefined

/** True for the event of a run that waits for answers. */
export const waitsForAction = (event: SessionEvent): boolean => stopReasonOf(event) === 'requires_action'

/** True for the event of a turn that has ended. */
export const endsTurn = (event: SessionEvent): boolean => stopReasonOf(event) === 'end_turn'
