import type { Client } from '../../client/client.ts'
import { readEvents } from '../../client/event-reader.ts'
import { endsRun, type SessionEvent } from '../../contract/events.ts'
import type { SessionCreate } from '../../contract/new-sessions.ts'
import type { PromptMode } from '../../contract/prompts.ts'
import { CheckFailed } from './check.ts'

/** What the suite says to the runtime; plain enough for any model. */
export interface SuitePrompts {
  /** Answered by some text. */
  readonly plain: string
  /** Answered by two sentences or more, so that there is something to preview. */
  readonly text: string
  /** Makes it call a tool. */
  readonly tool: string
  /** Takes several seconds. */
  readonly long: string
}

export interface BenchOptions {
  readonly client: Client
  /** Built-in id or alias. */
  readonly runtime: string
  /** The service chooses when absent. */
  readonly model: string | undefined
  readonly prompts: SuitePrompts
  /** Whose agents the suite makes. */
  readonly owner: string
  /** How long one run may take. */
  readonly withinMs: number
  readonly stop: AbortSignal
}

interface Sending {
  readonly mode?: PromptMode
  readonly model?: string
}

/** A session of the suite. */
export interface SuiteSession {
  readonly id: string
  /** Queues a prompt; its id. */
  send(text: string, sending?: Sending): Promise<string>
  /** The first event that fits, from the beginning of the log on. */
  until(what: string, fits: (event: SessionEvent) => boolean): Promise<SessionEvent>
  /** The event that ends the run of a prompt. */
  untilEnd(promptId: string): Promise<SessionEvent>
  /** The whole log. */
  log(): Promise<SessionEvent[]>
}

/** What a case works with. */
export interface Bench extends BenchOptions {
  newSession(fields?: SessionCreate): Promise<SuiteSession>
  /** An agent on the runtime whose tools all ask first; its id. */
  newAskingAgent(): Promise<string>
  /** Deletes what the case has made. */
  cleanUp(): Promise<void>
}

const pageSize = 1_000

/** True for the event that ends the run of that prompt. */
export const endsPrompt = (event: SessionEvent, promptId: string): boolean =>
  endsRun(event) && event['prompt_id'] === promptId

/** A fresh bench for one case. */
export function createBench(options: BenchOptions): Bench {
  const { client, runtime, model, owner } = options
  const sessions: string[] = []
  const agents: string[] = []
  return {
    ...options,
    async newSession(fields = {}) {
      const body = { title: 'Conformance of a runtime', ...(fields.agent_id === undefined && { runtime }), ...fields }
      const { id } = await client.sessions.create({ body })
      sessions.push(id)
      return sessionOf(options, id)
    },
    async newAskingAgent() {
      const ask = { permission_policy: { type: 'always_ask' } }
      const tools = [{ type: 'agent_toolset_20260401', default_config: ask }]
      const named = {
        name: 'Conformance of a runtime',
        owner_id: owner,
        runtime,
        ...(model !== undefined && { model }),
      }
      const { id } = await client.agents.create({ body: { ...named, tools } })
      agents.push(id)
      return id
    },
    async cleanUp() {
      for (const session_id of sessions) await client.sessions.managedRemove({ params: { session_id } })
      for (const agent_id of agents) await client.agents.remove({ params: { agent_id } })
    },
  }
}

function sessionOf(options: BenchOptions, id: string): SuiteSession {
  const { client, withinMs, stop } = options
  const log = () => eventsAfter(client, id, 0)
  const session: SuiteSession = {
    id,
    log,
    async send(text, sending = {}) {
      const known = (await log()).length
      await queue(options, id, { text, ...sending })
      const queued = (await eventsAfter(client, id, known)).find(({ type }) => type === 'user.message')
      const promptId = queued?.['prompt_id']
      if (typeof promptId !== 'string') throw new CheckFailed('a queued prompt is no user.message with a prompt_id')
      return promptId
    },
    async until(what, fits) {
      const signal = AbortSignal.any([stop, AbortSignal.timeout(withinMs)])
      for await (const { ephemeral, event } of readEvents({ client, sessionId: id, signal })) {
        if (!ephemeral && fits(event)) return event
      }
      stop.throwIfAborted()
      const types = (await log()).map(({ type }) => type)
      throw new CheckFailed(`${what} did not come within ${withinMs / 1000} s; the log has ${types.join(', ')}`)
    },
    untilEnd: promptId => session.until('the end of the run', event => endsPrompt(event, promptId)),
  }
  return session
}

/** Without a model the service takes that of the agent, or its own default. */
async function queue(
  { client, model }: BenchOptions,
  session_id: string,
  sent: Sending & { readonly text: string },
): Promise<void> {
  const { text, mode } = sent
  const params = { session_id }
  const parts = [{ type: 'text' as const, text }]
  const modelID = sent.model ?? model
  if (modelID === undefined) {
    await client.events.send({ params, body: { events: [{ type: 'user.message', content: parts }] } })
  } else {
    await client.sessions.promptAsync({ params, body: { model: { modelID }, parts, ...(mode && { mode }) } })
  }
}

/** The log of a session from an event on. */
export async function eventsAfter(client: Client, session_id: string, after: number): Promise<SessionEvent[]> {
  const events: SessionEvent[] = []
  for (;;) {
    const query = { after: String(events.at(-1)?.seq ?? after), limit: pageSize }
    const { data } = await client.events.list({ params: { session_id }, query })
    events.push(...data)
    if (data.length < pageSize) return events
  }
}
