import type { Client } from '../../client/client.ts'
import { readEvents } from '../../client/event-reader.ts'
import { endsRun, type SessionEvent } from '../../contract/events.ts'
import type { SessionCreate } from '../../contract/new-sessions.ts'
import type { PromptMode } from '../../contract/prompts.ts'
import { CheckFailed } from './check.ts'

/** Prompts of the suite; simple enough for any model. */
export interface SuitePrompts {
  /** Makes the model reply with some text. */
  readonly plain: string
  /** Makes the model reply with two sentences or more, so that deltas can be checked. */
  readonly text: string
  /** Makes the model call a tool. */
  readonly tool: string
  /** Takes several seconds. */
  readonly long: string
}

export interface SuiteContextOptions {
  readonly client: Client
  /** Built-in id or alias. */
  readonly runtime: string
  /** Undefined: the service chooses. */
  readonly model: string | undefined
  readonly prompts: SuitePrompts
  /** Owner of the agents that the suite creates. */
  readonly owner: string
  /** Timeout of one run. */
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
  /** Queues a prompt; returns its id. */
  send(text: string, sending?: Sending): Promise<string>
  /** Waits for the first matching event of the log. */
  until(what: string, fits: (event: SessionEvent) => boolean): Promise<SessionEvent>
  /** Waits for the event that ends the run of a prompt. */
  untilEnd(promptId: string): Promise<SessionEvent>
  /** Returns the whole log. */
  log(): Promise<SessionEvent[]>
}

/** Tools of a case. */
export interface SuiteContext extends SuiteContextOptions {
  newSession(fields?: SessionCreate): Promise<SuiteSession>
  /** Creates an agent whose tools all require approval; returns its id. */
  newApprovalAgent(): Promise<string>
  /** Deletes the sessions and agents of the case. */
  cleanUp(): Promise<void>
}

const pageSize = 1_000

/** True for the event that ends the run of the prompt. */
export const endsPrompt = (event: SessionEvent, promptId: string): boolean =>
  endsRun(event) && event.prompt_id === promptId

/** Creates the context of one case. */
export function createSuiteContext(options: SuiteContextOptions): SuiteContext {
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
    async newApprovalAgent() {
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

function sessionOf(options: SuiteContextOptions, id: string): SuiteSession {
  const { client, withinMs, stop } = options
  const log = () => eventsAfter(client, id, 0)
  const session: SuiteSession = {
    id,
    log,
    async send(text, sending = {}) {
      const before = (await log()).length
      await queue(options, id, { text, ...sending })
      const queued = (await eventsAfter(client, id, before)).find(({ type }) => type === 'user.message')
      const promptId = queued?.prompt_id
      if (promptId === undefined)
        throw new CheckFailed('a queued prompt is not in the log as user.message with a prompt_id')
      return promptId
    },
    async until(what, fits) {
      const signal = AbortSignal.any([stop, AbortSignal.timeout(withinMs)])
      for await (const { ephemeral, event } of readEvents({ client, sessionId: id, signal })) {
        if (!ephemeral && fits(event)) return event
      }
      stop.throwIfAborted()
      const types = (await log()).map(({ type }) => type)
      throw new CheckFailed(
        `${what} did not arrive within ${withinMs / 1000} s; events in the log: ${types.join(', ')}`,
      )
    },
    untilEnd: promptId => session.until('the end of the run', event => endsPrompt(event, promptId)),
  }
  return session
}

/** Queues a prompt. Without a model the service uses that of the agent, or its default. */
async function queue(
  { client, model }: SuiteContextOptions,
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

/** Returns the events of a session after sequence number `after`. */
export async function eventsAfter(client: Client, session_id: string, after: number): Promise<SessionEvent[]> {
  const events: SessionEvent[] = []
  for (;;) {
    const query = { after: String(events.at(-1)?.seq ?? after), limit: pageSize }
    const { data } = await client.events.list({ params: { session_id }, query })
    events.push(...data)
    if (data.length < pageSize) return events
  }
}
