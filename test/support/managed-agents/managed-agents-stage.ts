import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { type Content, type SessionEvent, textOfContent } from '../../../src/contract/events.ts'
import { createOutbound } from '../../../src/server/platform/outbound.ts'
import { managedAgentsKind } from '../../../src/server/runtimes/managed-agents/kind.ts'
import type { ProviderRefs, RunSession, Runtime } from '../../../src/server/runtimes/runtime.ts'
import { runRig, sessionWith } from '../sessions/run-rig.ts'
import { type ManagedAgentsFake, startManagedAgentsFake } from './managed-agents-fake.ts'

/** Thrown where a test lets the process die. */
class Crash extends Error {}

/** The runtime in front of a fake server, with a rig that plays the engine. Waits take no time, and are kept. */
export async function managedAgentsStage(
  test: TestContext,
  options: Parameters<typeof startManagedAgentsFake>[0] & { session?: Partial<RunSession>; memories?: string } = {},
) {
  const fake = await startManagedAgentsFake(options)
  test.after(() => fake.stop())
  const waits: number[] = []
  const kind = managedAgentsKind({
    outbound: createOutbound({ allow: [fake.host] }),
    memories: async () => options.memories ?? '',
    wait: async ms => void waits.push(ms),
  })
  const runtime = kind.connect({ id: 'cma', apiBase: fake.url, apiKey: fake.apiKey })
  return { fake, kind, runtime, waits, rig: runRig(sessionWith(options.session)) }
}

/** When a process dies: at its so manieth write to the database, counted from 1, before or after that. */
export interface Death {
  readonly at: number
  readonly when: 'before' | 'after'
}

/** The runtime in a process that dies. `writes` counts what it has stored. */
export function mortal(runtime: Runtime, death: Death) {
  let writes = 0
  const dies = (when: Death['when']): void => {
    if (when === 'before') writes += 1
    if (writes === death.at && when === death.when) throw new Crash()
  }
  const run: Runtime['run'] = async function* (session, prompt, context) {
    const saveRefs = async (refs: Partial<ProviderRefs>) => {
      dies('before')
      await context.saveRefs(refs)
      dies('after')
    }
    for await (const batch of runtime.run(session, prompt, { ...context, saveRefs })) {
      dies('before')
      yield batch
      dies('after')
    }
  }
  return {
    run,
    get writes() {
      return writes
    },
  }
}

/** Waits for a run that is expected to die. */
export const untilCrash = (run: Promise<void>): Promise<void> => assert.rejects(run, Crash)

/** Nothing was made twice, and no message was sent twice. */
export function assertOnce(fake: ManagedAgentsFake, messages = 1): void {
  assert.equal(fake.agents.size, 1)
  assert.equal(fake.environments.size, 1)
  assert.equal(fake.sessions.size, 1)
  assert.equal(fake.session.messages, messages)
}

function toldOf(event: SessionEvent): string {
  switch (event.type) {
    case 'agent.message':
      return `says ${firstText(event.content)}`
    case 'agent.tool_use':
    case 'agent.mcp_tool_use':
      return `uses ${event.name}`
    case 'agent.tool_result':
    case 'agent.mcp_tool_result':
      return `${event.is_error ? 'error' : 'result'} ${firstText(event.content)}`
    case 'session.status_running':
      return 'running'
    case 'session.status_idle':
      return `idle ${event.stop_reason.type}`
    case 'session.error':
      return `${event.error.retry_status?.type}: ${event.error.message}`
    default:
      return event.type
  }
}

const firstText = (content: Content = []): string => textOfContent(content.slice(0, 1))

/** What a reader of the log receives, without ids and times. */
export const story = (log: readonly SessionEvent[]): string[] =>
  log.filter(({ type }) => type !== 'user.message' && !type.startsWith('span.')).map(toldOf)

/** The invariants of every finished log: each tool call has one result, no event is emitted twice, one end. */
export function assertSound(log: readonly SessionEvent[]): void {
  const sources = log.flatMap(event => event.source_event_id ?? [])
  assert.equal(new Set(sources).size, sources.length, 'an event was emitted twice')
  const uses = log.filter(({ type }) => /^agent\.(mcp_)?tool_use$/.test(type)).map(event => event.tool_use_id)
  const results = log
    .filter(({ type }) => type.endsWith('tool_result'))
    .map(event => event.tool_use_id ?? event.mcp_tool_use_id)
  assert.deepEqual(results.toSorted(), uses.toSorted())
}
